# The book with JupyterLab, for machines where Python is not to be installed. On a CPU:
#   docker build --build-arg TORCH_INDEX_URL=… -t contrastive-dynamics .
#   docker run --rm -p 127.0.0.1:8888:8888 contrastive-dynamics
# Without the argument an x86 Linux image gets the torch that brings CUDA, some gigabytes; see "In a container" in
# book/rerun.md for what to give, for a GPU, and for commands in place of JupyterLab.
FROM python:3.11-slim

ARG TORCH_INDEX_URL
# a home for any user: `docker run --user` writes as the reader of the machine
RUN useradd --uid 1000 --create-home --home-dir /reader reader && chmod 1777 /reader
ENV HOME=/reader
WORKDIR /book
RUN chown reader /book
USER 1000
ENV PATH=/book/.venv/bin:$PATH
RUN python -m venv .venv

# what is installed changes less often than text: chapters come in a layer of their own
COPY --chown=reader pyproject.toml constraints.txt README.md LICENSE LICENSE-text ./
COPY --chown=reader clbook clbook
COPY --chown=reader lib lib
COPY --chown=reader chapters/experiments chapters/experiments
# torch alone comes from another index: beside the usual one it could win any name
RUN test -z "$TORCH_INDEX_URL" || pip install --no-cache-dir --no-deps --index-url "$TORCH_INDEX_URL" $(grep '^torch==' constraints.txt)
RUN pip install --no-cache-dir -c constraints.txt -e '.[run,cluster]'
COPY --chown=reader . .

EXPOSE 8888
CMD ["jupyter", "lab", "--ip=0.0.0.0", "--no-browser", "chapters/nonlinearity.ipynb"]
