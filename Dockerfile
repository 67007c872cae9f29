# One image for the dashboard, the worker and the bot; compose.yaml says which of them a container is.
FROM python:3.11-slim

RUN apt-get update \
    && apt-get install -y --no-install-recommends make \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 musebot \
    && mkdir /data && chown musebot /data

WORKDIR /app
COPY Makefile requirements.txt ./
RUN make install
COPY . .
# Compiled here once: the user below may not write beside the sources, and every start would compile them again.
RUN .venv/bin/python -m compileall -q memory botrunner musebot_site

USER musebot
ENV PATH=/app/.venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    MUSEBOT_HOME=/data \
    PROMETHEUS_MULTIPROC_DIR=/tmp/metrics
VOLUME /data
EXPOSE 8000
CMD ["python", "manage.py", "up", "--host", "0.0.0.0"]
