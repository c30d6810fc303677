"""The contracts of five other systems: their tools, routes and answers, in their words.

A folder for each: ``kep`` (HTTP search, and its socket), ``code``, ``platform`` (``manageKnowledge``) and ``staged``
(search summaries, then expand). ``pinakes.tools`` and ``api.http_app`` load them by name: nothing else depends on them.
"""
