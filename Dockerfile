FROM python:3.11-slim

RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /app
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
# Names of extras, as in --build-arg EXTRAS=qdrant
ARG EXTRAS=""
RUN pip install --no-cache-dir --constraint constraints.txt ".${EXTRAS:+[$EXTRAS]}"

RUN useradd --create-home pinakes && mkdir /data /storage && chown pinakes /data /storage
USER pinakes

# The container is the border: which address of the machine is reached decides the port mapping.
ENV PINAKES_HOME=/storage \
    PINAKES_CACHE=/storage/cache \
    PINAKES_SERVER__HOST=0.0.0.0 \
    PINAKES_SERVER__PORT=8000 \
    PINAKES_SERVER__NO_AUTH=true

VOLUME ["/data", "/storage"]
EXPOSE 8000
HEALTHCHECK --start-period=30s CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen('http://127.0.0.1:' + os.environ['PINAKES_SERVER__PORT'] + '/healthz', timeout=3)"]
CMD ["pinakes", "serve"]
