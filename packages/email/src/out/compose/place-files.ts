import type { ArtifactPart, FilePart, Part } from '@postern/core'

interface FilePlacing {
  /** The maximum of attachments, in octets before base64. */
  readonly attachBytes: number
  readonly fileAddress: ((digest: string) => string) | undefined
}

/** Files that do not fit any more are linked: receivers refuse what is too large, and then the words are lost with it. */
export function placeFiles(parts: readonly Part[], { attachBytes, fileAddress }: FilePlacing): readonly Part[] {
  let room = attachBytes
  return parts.map(part => {
    if (part.kind !== 'file' && part.kind !== 'artifact') return part
    const size = sizeOf(part)
    if (size <= room) {
      room -= size
      return part
    }
    const { bytes_ref: ref } = part
    if (ref.kind !== 'content_addressed' || !fileAddress) return part
    return { ...part, name: part.name ?? 'attachment', bytes_ref: { kind: 'url', url: fileAddress(ref.digest) } }
  })
}

function sizeOf({ bytes_ref: ref, size }: FilePart | ArtifactPart): number {
  if (ref.kind === 'url') return 0
  return ref.kind === 'inline' ? Math.floor((ref.data_base64.length * 3) / 4) : (size ?? 0)
}
