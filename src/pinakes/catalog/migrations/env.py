"""Run migrations on the connection that the catalogue hands over."""

from alembic import context

from pinakes.catalog.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
context.run_migrations()
