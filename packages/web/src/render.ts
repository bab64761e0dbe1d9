import type { Event, TextMessageStartEvent } from '@ag-ui/core'
import { EventType } from '@ag-ui/core'
import type {
  AnsweredTurn,
  ArtifactPart,
  Delivery,
  FilePart,
  Json,
  LinkPart,
  NormalizedResponse,
  Part,
  RefusalKind,
} from '@postern/core'
import { parseJsonText, plainTextOf, policiesOf, refusalKinds } from '@postern/core'

/** The client reads the answer from the store, so a committed answer is delivered. */
export function addressRun({ turn }: AnsweredTurn) {
  return {
    deliveries: [{ to: `run:${runOf(turn.target)}`, target: turn.target, pulled: true }],
    aliases: [],
  }
}

/** The unchanged response. Streams and the history write it as AG-UI when a client reads it. */
export function renderResponse({ response }: Delivery): NormalizedResponse | null {
  return response ?? null
}

export function describeResponse(response: NormalizedResponse | null): Json {
  return parseJsonText(JSON.stringify(response)) as Json
}

/** The message of AG-UI that a client shows for it. */
export function showChatAnswer({ id, parts }: NormalizedResponse, fileAddress: FileAddress): Json {
  const files = listFiles(parts, fileAddress)
  const message = {
    id,
    role: 'assistant',
    content: writeBlocks(parts, fileAddress),
    ...(files.length > 0 && { files }),
  }
  return parseJsonText(JSON.stringify(message)) as Json
}

function runOf(target: unknown): string {
  return String((target as { readonly run?: unknown } | null)?.run ?? '')
}

/** Where stored bytes are read, by their digest. */
export type FileAddress = ((digest: string) => string) | undefined

/** Separates the blocks of one message. */
export const blockBreak = '\n\n'

/** A file in the metadata of the message whose text links to it. */
interface ShownFile {
  readonly kind: 'file' | 'artifact'
  readonly name?: string | undefined
  readonly mime_type?: string | undefined
  readonly size?: number | undefined
  readonly sha256?: string | undefined
  readonly url?: string | undefined
}

export function writeBlocks(parts: readonly Part[], fileAddress: FileAddress): string {
  const blocks = parts.map(part => (part.kind === 'tool_call' ? '' : writeBlock(part, fileAddress)))
  return blocks.filter(Boolean).join(blockBreak)
}

export function listFiles(parts: readonly Part[], fileAddress: FileAddress): readonly ShownFile[] {
  return parts.flatMap(part => (part.kind === 'file' || part.kind === 'artifact' ? [showFile(part, fileAddress)] : []))
}

function showFile(part: FilePart | ArtifactPart, fileAddress: FileAddress): ShownFile {
  const { kind, name, mime, size, bytes_ref } = part
  const sha256 = bytes_ref.kind === 'content_addressed' ? bytes_ref.digest : undefined
  return { kind, name, mime_type: mime, size, sha256, url: addressOf(part, fileAddress) }
}

function addressOf({ bytes_ref }: FilePart | ArtifactPart, fileAddress: FileAddress): string | undefined {
  const url = bytes_ref.kind === 'content_addressed' ? fileAddress?.(bytes_ref.digest) : undefined
  return url ?? (bytes_ref.kind === 'url' && isFollowed(bytes_ref.url) ? bytes_ref.url : undefined)
}

/** Markdown for what text cannot show, because an assistant's content is one string. */
export function writeBlock(part: Part, fileAddress: FileAddress): string {
  if (part.kind === 'text') return part.content
  if (part.kind === 'link') return writeLink(part)
  if (part.kind === 'policy') return part.policy.message
  if (part.kind !== 'file' && part.kind !== 'artifact') return ''
  const { name = 'file' } = part
  const address = addressOf(part, fileAddress)
  return address === undefined ? name : writeLink({ url: address, title: name })
}

/** Only pages and mailboxes: in a browser other addresses may run code. */
function isFollowed(url: string): boolean {
  return /^(https?|mailto):$/.test(URL.parse(url)?.protocol ?? '')
}

function writeLink({ url, title = url }: Pick<LinkPart, 'url' | 'title'>): string {
  if (!isFollowed(url)) return title
  return `[${title.replace(/[[\]\\]/g, '\\$&')}](${new URL(url).href.replace(/[()]/g, mark => (mark === '(' ? '%28' : '%29'))})`
}

/** An event of AG-UI before it has its time. */
export type Unstamped<E> = E extends Event ? Omit<E, 'timestamp'> : never

export type EmitEvent = (event: Unstamped<Event>) => void

/** Writes the text of an answer as messages, in pieces or whole. `response` is the id of the first message. */
export interface TextWriter {
  hasText(): boolean
  /** Continues the text before it if both have one kind, as the gateway joins the pieces of an answer. */
  write(part: Part, response: string): void
  /** Writes what is missing of the complete answer. If the answer has changed, it becomes a message of its own. */
  complete(parts: readonly Part[], response: string): void
  /** The next part does not continue the text before it. */
  separate(): void
  endMessage(): void
  /** Another speaker begins another message. */
  speakAs(speaker: string): void
  /** What the agent wants the chat to keep with its answer. */
  keep(metadata: NormalizedResponse['chat_metadata']): void
}

interface TextDeps {
  readonly emit: EmitEvent
  readonly speaker: string
  readonly fileAddress?: FileAddress
}

interface OpenText {
  readonly emit: EmitEvent
  speaker: string
  /** The text of all messages together. */
  text: string
  /** The part before, if it was text. */
  last: { readonly mime: string; readonly isBegun: boolean } | undefined
  /** The id of the open message. */
  message: string | undefined
  messageCount: number
  /** The files that the open message links to. */
  files: readonly ShownFile[]
  kept: NormalizedResponse['chat_metadata']
}

export function createRunTextWriter({ emit, speaker, fileAddress }: TextDeps): TextWriter {
  const open: OpenText = {
    emit,
    speaker,
    text: '',
    last: undefined,
    message: undefined,
    messageCount: 0,
    files: [],
    kept: undefined,
  }
  return {
    hasText: () => open.text !== '',
    write: (part, response) => writePart(part, response, open, fileAddress),
    complete: (parts, response) => completeText(parts, response, open, fileAddress),
    separate() {
      open.last = undefined
    },
    endMessage: () => endMessage(open),
    speakAs(next) {
      if (next !== open.speaker) endMessage(open)
      open.speaker = next
    },
    keep(metadata) {
      open.kept = metadata
    },
  }
}

function writePart(part: Part, response: string, open: OpenText, fileAddress: FileAddress): void {
  const block = writeBlock(part, fileAddress)
  const continues = part.kind === 'text' && part.mime === open.last?.mime && open.last.isBegun
  if (continues) {
    writeDelta(block, response, open)
    open.text += block
  } else writeNewBlock(block, response, open)
  open.files = [...open.files, ...listFiles([part], fileAddress)]
  open.last = part.kind === 'text' ? { mime: part.mime, isBegun: continues || block !== '' } : undefined
}

/** Begins with a break if the message has text already. */
function writeNewBlock(block: string, response: string, open: OpenText): void {
  if (block === '') return
  if (open.text !== '') open.text += blockBreak
  writeDelta(open.message === undefined ? block : `${blockBreak}${block}`, response, open)
  open.text += block
}

function completeText(parts: readonly Part[], response: string, open: OpenText, fileAddress: FileAddress): void {
  const whole = writeBlocks(parts, fileAddress)
  if (whole === open.text) return
  open.files = listFiles(parts, fileAddress)
  if (whole.startsWith(open.text)) {
    const rest = whole.slice(open.text.length)
    writeDelta(open.message === undefined ? rest.replace(/^\n+/, '') : rest, response, open)
  } else {
    endMessage(open)
    writeDelta(whole, response, open)
  }
  open.text = whole
}

function writeDelta(delta: string, response: string, open: OpenText): void {
  if (delta === '') return
  open.message ??= startMessage(response, open)
  open.emit({ type: EventType.TEXT_MESSAGE_CONTENT, messageId: open.message, delta })
}

function startMessage(response: string, open: OpenText): string {
  open.messageCount += 1
  const messageId = open.messageCount === 1 ? response : `${response}-${open.messageCount}`
  const start: Unstamped<TextMessageStartEvent> = {
    type: EventType.TEXT_MESSAGE_START,
    messageId,
    role: 'assistant',
    name: open.speaker,
  }
  open.emit(start)
  return messageId
}

function endMessage(open: OpenText): void {
  const { message, files, kept } = open
  const metadata = { ...kept, ...(files.length > 0 && { files }) }
  const shown = Object.keys(metadata).length > 0 ? { metadata } : {}
  if (message !== undefined) open.emit({ type: EventType.TEXT_MESSAGE_END, messageId: message, ...shown })
  open.message = undefined
  open.files = []
}

/** Why an agent refuses to answer. The run's error and the message in the history contain it. */
export interface ShownRefusal {
  readonly kind: RefusalKind
  readonly title: string
  readonly retry_after_seconds?: number | undefined
}

/** What a page may show above the message, if the agent names nothing. */
const titles: Readonly<Record<RefusalKind, string>> = {
  forbidden: 'Forbidden',
  too_many_requests: 'Too many requests',
  unavailable_for_legal_reasons: 'Unavailable for legal reasons',
  service_unavailable: 'Service unavailable',
}

/** The first refusal in an answer; undefined when there is none. */
export function findRefusal(parts: readonly Part[]): (ShownRefusal & { readonly message: string }) | undefined {
  for (const { kind: named, title, message, retry_after_seconds } of policiesOf(parts)) {
    const kind = refusalKinds.find(known => known === named)
    if (kind) return { kind, title: title ?? titles[kind], message, retry_after_seconds }
  }
  return undefined
}

/** How a run ends whose answer is a refusal. */
export function describeRefusal({ parts }: Pick<NormalizedResponse, 'parts'>): {
  readonly message: string
  readonly code: string
  readonly details?: ShownRefusal
} {
  const found = findRefusal(parts)
  if (!found) return { message: plainTextOf(parts) || 'The agent refused', code: 'rejected' }
  const { message, ...details } = found
  return { message, code: details.kind, details }
}
