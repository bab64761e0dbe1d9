// Defines the parts of a message that a simulated peer sends, and renders these parts for each protocol.

/** A part of a message that a peer sends. It is a text, a file, or a JSON value, which only A2A supports. */
export type SentPart = SentText | SentFilePart | SentDataPart

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

interface SentDataPart {
  readonly kind: 'artifact'
  readonly name?: string | undefined
  /** Any JSON. */
  readonly data: unknown
}

/** The content of a peer's message: a text, further parts, or both. */
export interface SentContent {
  readonly text: string
  readonly parts?: readonly SentPart[] | undefined
}

/** Lists the parts of a message in order, the text first. An empty text is omitted if there are other parts. */
export function listSentParts({ text, parts = [] }: SentContent): readonly SentPart[] {
  return text === '' && parts.length > 0 ? parts : [{ kind: 'text', content: text }, ...parts]
}

/** Separates the joined texts of a message from its files, for protocols with a single text. @throws Error if it has a data part */
export function separateTextAndFiles(content: SentContent): {
  readonly text: string
  readonly files: readonly SentFilePart[]
} {
  const sentParts = listSentParts(content)
  if (sentParts.some(({ kind }) => kind === 'artifact')) throw new Error('a value ("artifact") goes by A2A alone')
  const text = sentParts.flatMap(part => (part.kind === 'text' ? part.content : [])).join('\n\n')
  return { text, files: sentParts.flatMap(part => (part.kind === 'file' ? part : [])) }
}

/** Writes a part in the form of A2A 1.0. */
export function renderA2aPart(part: SentPart): object {
  if (part.kind === 'text') return { text: part.content, mediaType: 'text/plain' }
  if (part.kind === 'artifact') return { data: part.data, ...(part.name !== undefined && { filename: part.name }) }
  return { raw: Buffer.from(part.bytes).toString('base64'), filename: part.name, mediaType: part.mime }
}

/** Writes the content of a user's message in the form of AG-UI. */
export function renderRunContent(content: SentContent): string | readonly object[] {
  const { text, files } = separateTextAndFiles(content)
  if (files.length === 0) return text
  return [...(text === '' ? [] : [{ type: 'text', text }]), ...files.map(renderRunFile)]
}

function renderRunFile({ name, mime, bytes }: SentFilePart): object {
  const source = { type: 'data', value: Buffer.from(bytes).toString('base64'), mimeType: mime }
  return { type: mime.startsWith('image/') ? 'image' : 'document', source, metadata: { filename: name } }
}
