// Recognizes the parts that have bytes.

import type { ArtifactPart, FilePart, Part } from '../part.ts'

/** Returns true if a part has bytes. */
export function isFilePart(part: Part): part is FilePart | ArtifactPart {
  return part.kind === 'file' || part.kind === 'artifact'
}
