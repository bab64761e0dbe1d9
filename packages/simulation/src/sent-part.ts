// Parts of a message that a peer of the simulation sends, and how each protocol carries them.

/** A part of a message that a peer sends: a text, a file, or a value as JSON, which A2A alone carries. */
export type SentPart = SentText | SentFilePart | SentValue

interface SentText {
  readonly kind: 'text'
  readonly content: string
}

export interface SentFilePart {
  readonly kind: 'file'
  readonly name: string
  readonly mime: string
  readonly bytes: Uint8Array
}

interface SentValue {
  readonly kind: 'artifact'
  readonly name?: string | undefined
  /** Any JSON. */
  readonly data: unknown
}

/** The words of a peer: a text, further parts, or both. */
export interface SentContent {
  readonly text: string
  readonly parts?: readonly SentPart[] | undefined
}

/** Lists the parts of a message in order, the text first. An empty text beside other parts is none. */
export function listSentParts({ text, parts = [] }: SentContent): readonly SentPart[] {
  return text === '' && parts.length > 0 ? parts : [{ kind: 'text', content: text }, ...parts]
}

/** Joins the texts of a message, for a protocol that has one text beside its files. @throws Error for a value, which it cannot carry */
export function splitSentParts(content: SentContent): {
  readonly text: string
  readonly files: readonly SentFilePart[]
} {
  const all = listSentParts(content)
  if (all.some(({ kind }) => kind === 'artifact')) throw new Error('a value ("artifact") goes by A2A alone')
  const text = all.flatMap(part => (part.kind === 'text' ? part.content : [])).join('\n\n')
  return { text, files: all.flatMap(part => (part.kind === 'file' ? part : [])) }
}

/** Writes a part as A2A 1.0 has it. */
export function writeA2aPart(part: SentPart): object {
  if (part.kind === 'text') return { text: part.content, mediaType: 'text/plain' }
  if (part.kind === 'artifact') return { data: part.data, ...(part.name !== undefined && { filename: part.name }) }
  return { raw: Buffer.from(part.bytes).toString('base64'), filename: part.name, mediaType: part.mime }
}

/** Writes the content of a user's message as AG-UI has it. */
export function writeRunContent(content: SentContent): string | readonly object[] {
  const { text, files } = splitSentParts(content)
  if (files.length === 0) return text
  return [...(text === '' ? [] : [{ type: 'text', text }]), ...files.map(writeRunFile)]
}

function writeRunFile({ name, mime, bytes }: SentFilePart): object {
  const source = { type: 'data', value: Buffer.from(bytes).toString('base64'), mimeType: mime }
  return { type: mime.startsWith('image/') ? 'image' : 'document', source, metadata: { filename: name } }
}
