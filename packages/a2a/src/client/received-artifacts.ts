// Collects the artifacts of an answer while they grow, and passes their parts on.
import type { Part } from '@postern/message'
import { isJsonObject } from '@postern/message'
import { appendParts } from '@postern/pipeline'
import type { WireArtifact, WirePart } from '../format/wire.ts'
import { readParts } from '../normalize.ts'
import { readToolEvent } from '../parts/parts.ts'

interface ReceivedArtifact {
  /** The section of the artifact. Undefined for a first artifact without a name, because it is then the whole answer. */
  readonly section: Section | undefined
  parts: readonly Part[]
  /** The text passed on so far, without separators. */
  passedText: string
  /** The number of files and other parts passed on so far. */
  passedOtherCount: number
  /** True if the server has replaced the artifact. Its content is then known only at the end. */
  wasReplaced: boolean
}

type Section = { readonly id: string; readonly name?: string | undefined }

export type ReceivedArtifacts = ReturnType<typeof createReceivedArtifacts>

/**
 * Creates the collection of artifacts. `artifactTexts` contains the artifacts that the task had before the message. They are not part of the answer while they
 * stay the same.
 */
export function createReceivedArtifacts(
  onPiece: ((parts: readonly Part[]) => void) | undefined,
  artifactTexts: ReadonlyMap<string, string> = new Map(),
) {
  let artifacts = new Map<string, ReceivedArtifact>()

  function createArtifact(artifactId: string, name: string | undefined): ReceivedArtifact {
    const isPlain = artifacts.size === 0 && name === undefined
    const section = isPlain ? undefined : { id: artifactId, ...(name !== undefined && { name: name.slice(0, 200) }) }
    return { section, parts: [], passedText: '', passedOtherCount: 0, wasReplaced: false }
  }

  function passOn(artifact: ReceivedArtifact, parts: readonly Part[]): void {
    if (!onPiece || parts.length === 0) return
    artifact.passedText += textOf(parts)
    artifact.passedOtherCount += countOtherParts(parts)
    onPiece(parts)
  }

  return {
    size: () => artifacts.size,
    has: (artifactId: string) => artifacts.has(artifactId),
    countParts: () => [...artifacts.values()].reduce((sum, { parts }) => sum + parts.length, 0),
    /** Returns all parts, artifact by artifact. */
    parts: (): readonly Part[] => [...artifacts.values()].flatMap(({ parts }) => parts),
    /** Returns the parts that `onPiece` has not received. */
    remainingParts: (): readonly Part[] => [...artifacts.values()].flatMap(remainingPartsOf),
    /** Replaces all artifacts with those of a complete task. */
    replaceAll(wireArtifacts: readonly WireArtifact[]): void {
      const previousArtifacts = artifacts
      artifacts = new Map()
      for (const { artifactId, name, parts } of wireArtifacts) {
        if (artifactTexts.get(artifactId) === JSON.stringify(parts)) continue
        const artifact = previousArtifacts.get(artifactId) ?? createArtifact(artifactId, name)
        artifact.parts = assignSection(joinArtifactParts(parts), artifact.section)
        artifacts.set(artifactId, artifact)
      }
    },
    /** Applies one update. The first update of an artifact waits for the next one, because a server may send the whole artifact each time. */
    update({ artifactId, name, parts: wireParts }: WireArtifact, { append, isLast }: ArtifactUpdate): void {
      const earlierArtifact = artifacts.get(artifactId)
      const artifact = earlierArtifact ?? createArtifact(artifactId, name)
      const parts = assignSection(wireParts.flatMap(readWirePart), artifact.section)
      artifacts.set(artifactId, artifact)
      if (earlierArtifact && !append) {
        artifact.wasReplaced = true
        artifact.parts = parts
        return
      }
      const earlierParts = artifact.parts
      artifact.parts = appendParts(earlierParts, parts)
      if (artifact.wasReplaced || !(earlierArtifact || isLast)) return
      if (artifact.passedText === '' && artifact.passedOtherCount === 0) passOn(artifact, earlierParts)
      passOn(artifact, parts)
    },
  }
}

/** Returns the text of each artifact by its id, so that a later call can tell if it has changed. */
export function listArtifactTexts(wireArtifacts: readonly WireArtifact[]): ReadonlyMap<string, string> {
  return new Map(wireArtifacts.map(({ artifactId, parts }) => [artifactId, JSON.stringify(parts)]))
}

interface ArtifactUpdate {
  readonly append: boolean
  readonly isLast: boolean
}

/** Returns the parts of an artifact that `onPiece` has not received, or all parts if the content has changed. */
function remainingPartsOf({ parts, passedText, passedOtherCount }: ReceivedArtifact): readonly Part[] {
  if (passedText === '' && passedOtherCount === 0) return parts
  if (!textOf(parts).startsWith(passedText)) return parts
  let chars = passedText.length
  let otherPartCount = passedOtherCount
  const remaining: Part[] = []
  for (const part of parts) {
    if (part.kind !== 'text') {
      otherPartCount -= 1
      if (otherPartCount < 0) remaining.push(part)
      continue
    }
    // A separate text does not continue the text that was passed on.
    const separator = chars === 0 && remaining.length === 0 ? '\n\n' : ''
    const skippedChars = Math.min(chars, part.content.length)
    chars -= skippedChars
    if (skippedChars < part.content.length)
      remaining.push({ ...part, content: separator + part.content.slice(skippedChars) })
  }
  return remaining
}

function textOf(parts: readonly Part[]): string {
  return parts.map(part => (part.kind === 'text' ? part.content : '')).join('')
}

function countOtherParts(parts: readonly Part[]): number {
  return parts.filter(({ kind }) => kind !== 'text').length
}

function assignSection(parts: readonly Part[], section: Section | undefined): readonly Part[] {
  if (!section) return parts
  return parts.map(part => (part.kind === 'tool_call' || part.kind === 'policy' ? part : { ...part, section }))
}

/**
 * Joins the parts of a complete artifact. Parts are separate (A2A §4.1.7), unless spaces at their edges show that they are pieces of one text.
 * For example, a2a-python makes each chunk of a stream a separate part.
 */
export function joinArtifactParts(wireParts: readonly WirePart[]): readonly Part[] {
  const parts = wireParts.flatMap(readWirePart)
  const arePieces = parts.length > 1 && parts.some(part => part.kind === 'text' && /^[ \t]|[ \t]$/.test(part.content))
  return arePieces
    ? parts.reduce<readonly Part[]>((result, part) => appendParts(result, [part]), [])
    : appendParts([], parts)
}

/** Converts a part of an answer. The part contains its bytes, because they are not stored yet. */
function readWirePart(wirePart: WirePart): readonly Part[] {
  if (isThought(wirePart)) return []
  const event = readToolEvent(wirePart)
  if (event) return [event]
  const { parts, blobs } = readParts([wirePart])
  const [{ bytes } = { bytes: new Uint8Array() }] = blobs
  return parts.map((item): Part => {
    if ((item.kind !== 'file' && item.kind !== 'artifact') || item.bytes_ref.kind !== 'content_addressed') return item
    return { ...item, bytes_ref: { kind: 'inline', data_base64: Buffer.from(bytes).toString('base64') } }
  })
}

/**
 * Returns true if a part is a thought of a model, which Google's ADK marks by `adk_thought` and others by `thought`. Thoughts are not part of an
 * answer.
 */
function isThought({ metadata }: WirePart): boolean {
  return isJsonObject(metadata) && (metadata.adk_thought === true || metadata.thought === true)
}
