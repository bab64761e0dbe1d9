import type { AgentContext, ArtifactPart, FilePart, NormalizedMessage, Part } from '@postern/core'
import { findImageKind } from '../config/image-kind.ts'

/** A picture as chat completions take it. */
export interface ImagePiece {
  readonly type: 'image_url'
  readonly image_url: { readonly url: string }
}

const maxImages = 4
/** Bytes of one picture. Base64 adds a third. */
const maxImageBytes = 5 * 1024 * 1024

type ImageDeps = Pick<AgentContext, 'attachment' | 'log' | 'signal'>

/** The pictures of a message as data URLs. Missing, too large and invalid ones are left out, because the text names them anyway. */
export async function readImages({ parts }: NormalizedMessage, context: ImageDeps): Promise<readonly ImagePiece[]> {
  const candidates = parts.filter(isLikelyImage).slice(0, maxImages)
  const images = await Promise.all(candidates.map(part => readImage(part, context)))
  return images.filter(image => image !== undefined)
}

function isLikelyImage(part: Part): part is FilePart | ArtifactPart {
  if (part.kind !== 'file' && part.kind !== 'artifact') return false
  return part.mime?.startsWith('image/') === true && (part.size ?? 0) <= maxImageBytes
}

async function readImage(part: FilePart | ArtifactPart, context: ImageDeps): Promise<ImagePiece | undefined> {
  const bytes = await readBytes(part, context)
  // The bytes and not the name determine the type.
  const kind = bytes && bytes.length <= maxImageBytes ? findImageKind(bytes) : undefined
  if (!bytes || !kind) return undefined
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  return { type: 'image_url', image_url: { url: `data:${kind.mediaType};base64,${data}` } }
}

async function readBytes(part: FilePart | ArtifactPart, { attachment, log, signal }: ImageDeps) {
  try {
    return (await attachment(part)).bytes
  } catch (error) {
    signal.throwIfAborted()
    log.warn({ err: error }, 'a picture cannot be shown to the model')
    return undefined
  }
}
