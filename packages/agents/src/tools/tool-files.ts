// Moves the files of a tool's result into the answer, and leaves the model the part that it can read.
import type { ArtifactPart, FilePart } from '@postern/message'
import { describeFaults, givenPartSchema, isFilePart } from '@postern/message'
import { detectImageType } from '@postern/transcript'

/** The description of a file that a tool attaches. */
export interface FileDescription {
  readonly name?: string | undefined
  /** The media type; default: the type that the bytes of an image show, otherwise `application/octet-stream`. */
  readonly mime?: string | undefined
}

export type AnswerFile = FilePart | ArtifactPart

/** Describes the bytes as a part of an answer. An image is recognized by its bytes. */
export function describeFile(
  bytes: Uint8Array,
  { name, mime = 'application/octet-stream' }: FileDescription = {},
): FilePart {
  return {
    kind: 'file',
    mime: detectImageType(bytes) ?? mime,
    size: bytes.length,
    ...(name !== undefined && { name }),
    bytes_ref: { kind: 'inline', data_base64: Buffer.from(bytes).toString('base64') },
  }
}

/**
 * Splits the return value of a tool: one file, a list of parts, or `{ parts }`. The files go into the answer, and the model reads their name, type
 * and size instead of their bytes. @throws Error naming the member if a file cannot be part of an answer
 */
export function extractFiles(returnValue: unknown): {
  readonly result: unknown
  readonly files: readonly AnswerFile[]
} {
  const files: AnswerFile[] = []
  const extract = (part: unknown): unknown => {
    const file = readFile(part)
    files.push(file)
    return summarizeFile(file)
  }
  const parts = readParts(returnValue)
  if (parts?.some(isFileLike)) {
    const partsForModel = parts.map(part => (isFileLike(part) ? extract(part) : part))
    return { result: { ...(returnValue as object), parts: partsForModel }, files }
  }
  if (isFileWithBytes(returnValue)) return { result: extract(returnValue), files }
  if (Array.isArray(returnValue) && returnValue.some(isFileWithBytes))
    return { result: returnValue.map(part => (isFileWithBytes(part) ? extract(part) : part)), files }
  return { result: returnValue, files }
}

function readParts(returnValue: unknown): readonly unknown[] | undefined {
  if (typeof returnValue !== 'object' || returnValue === null || !('parts' in returnValue)) return undefined
  return Array.isArray(returnValue.parts) ? returnValue.parts : undefined
}

function isFileLike(part: unknown): part is object {
  return (
    typeof part === 'object' && part !== null && 'kind' in part && (part.kind === 'file' || part.kind === 'artifact')
  )
}

/** Returns true for a file part. Outside of `{ parts }` an object with the same `kind` may be something else, such as an entry of a folder. */
function isFileWithBytes(value: unknown): boolean {
  return isFileLike(value) && 'bytes_ref' in value
}

function readFile(part: unknown): AnswerFile {
  const { data, error } = givenPartSchema.safeParse(part)
  if (data && isFilePart(data)) return data
  throw new Error(`The tool returned a file that is not valid${error ? `: ${describeFaults(error, part)}` : ''}`)
}

function summarizeFile({ kind, name, mime, size, bytes_ref }: AnswerFile) {
  const bytes = bytes_ref.kind === 'inline' ? Buffer.byteLength(bytes_ref.data_base64, 'base64') : size
  return { kind, name, mime, size: bytes }
}
