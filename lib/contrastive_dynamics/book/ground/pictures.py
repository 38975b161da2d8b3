"""PNG files without the notes in them that differ from machine to machine."""

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_NOTES = (b"tEXt", b"iTXt", b"zTXt", b"tIME")


def plain_png(content: bytes) -> bytes:
    """A PNG without its notes (software, time); what is no PNG stays as it is."""
    if not content.startswith(_SIGNATURE):
        return content
    parts, at = [_SIGNATURE], len(_SIGNATURE)
    while at < len(content):
        end = at + 12 + int.from_bytes(content[at : at + 4], "big")  # length, name, data, check sum
        if content[at + 4 : at + 8] not in _NOTES:
            parts.append(content[at:end])
        at = end
    return b"".join(parts)
