import { isJsonObject } from '@postern/core'
import type { WirePart } from '../format/wire.ts'

/** Members of our parts that A2A's parts lack. They are in the family's namespace. */
interface PartNote {
  readonly kind: 'file' | 'artifact' | 'link'
  readonly artifact_type?: string | undefined
  readonly description?: string | undefined
  readonly url?: string | undefined
  readonly title?: string | undefined
}

const members = ['artifact_type', 'description', 'url', 'title'] as const
const kinds: ReadonlySet<unknown> = new Set(['file', 'artifact', 'link'])
const mostChars = 4_096

export function writePartNote(note: PartNote): Pick<WirePart, 'metadata'> {
  const said = Object.entries(note).filter(([, value]) => value !== undefined)
  return { metadata: { mentionable: Object.fromEntries(said) } }
}

/** The writer's note of a part. Members that are no short text are ignored. */
export function readPartNote({ metadata }: WirePart): Partial<PartNote> {
  const noted = isJsonObject(metadata?.mentionable) ? metadata.mentionable : {}
  if (!kinds.has(noted.kind)) return {}
  const texts = members.flatMap(name => {
    const value = noted[name]
    return typeof value === 'string' && value !== '' && value.length <= mostChars ? [[name, value] as const] : []
  })
  return { kind: noted.kind as PartNote['kind'], ...Object.fromEntries(texts) }
}
