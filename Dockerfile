# docker build -t faradisc .                                      docker build --build-arg EXTRAS=console,postgres,vectors -t faradisc .
# docker run -e FARADISC_TRUST_NETWORK=1 -p 127.0.0.1:8000:8000 -v faradisc:/data faradisc
FROM python:3.13-slim AS build
ARG EXTRAS=vectors
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN python3 -m venv /opt/faradisc \
 && /opt/faradisc/bin/pip install --no-cache-dir -c constraints.txt ".[$EXTRAS]"

FROM python:3.13-slim
COPY --from=build /opt/faradisc /opt/faradisc
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin faradisc \
 && install -d -o faradisc -g faradisc /data
# It listens for other machines, so it starts with TLS and --auth strict, or with FARADISC_TRUST_NETWORK=1 where
# the network is trusted, as it is if the port is published on 127.0.0.1 only.
ENV PATH=/opt/faradisc/bin:$PATH FARADISC_HOST=0.0.0.0 FARADISC_DATA_DIR=/data
WORKDIR /data
VOLUME /data
EXPOSE 8000
USER faradisc
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["faradisc", "wait", "--timeout", "3"]
ENTRYPOINT ["faradisc"]
CMD ["serve"]
