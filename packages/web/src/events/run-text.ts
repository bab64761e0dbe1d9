// Writes the text of an answer as the messages of a run, with the same ids as in the history.
import type { Event, TextMessageStartEvent } from '@ag-ui/core'
import { EventType } from '@ag-ui/core'
import type { NormalizedResponse, Part } from '@postern/message'
import { isFilePart } from '@postern/message'
import { hasNoWords, nameSaid, standsAlone } from '@postern/transcript'
import type { FileAddress, ShownFile } from '../render.ts'
import { blockBreak, listFiles, writeBlock, writeBlocks } from '../render.ts'

/** An event of AG-UI without its timestamp. */
export type Unstamped<E> = E extends Event ? Omit<E, 'timestamp'> : never

export type EmitEvent = (event: Unstamped<Event>) => void

/** A writer of the text of an answer as messages, in pieces or whole. `response` is the id of the answer. */
export interface TextWriter {
  /** Writes a piece. It continues the previous text if both have one type, as the gateway joins the pieces of an answer. */
  write(part: Part, response: string): void
  /** Writes the text that is missing of the next message of the complete answer. */
  complete(parts: readonly Part[], response: string): void
  /** Returns true if the client has exactly the messages that were completed. */
  isExact(): boolean
  /** Lets the next part begin a new block instead of continuing the previous text. */
  separate(): void
  /** Lets the next part begin a new message. */
  split(): void
  endMessage(): void
  /** Sets the speaker of the next message. */
  speakAs(speaker: string): void
  /** Sets the metadata that the agent wants the chat to store with its answer. */
  keep(metadata: NormalizedResponse['chat_metadata']): void
}

interface TextDeps {
  readonly emit: EmitEvent
  readonly speaker: string
  readonly fileAddress?: FileAddress
}

interface OpenText {
  readonly emit: EmitEvent
  readonly fileAddress: FileAddress
  speaker: string
  /** The id of the answer that the messages belong to. */
  response: string | undefined
  /** The texts of the messages so far, and their speakers. */
  readonly texts: string[]
  readonly speakers: string[]
  /** The previous part, if it was text. */
  last: { readonly mime: string; readonly isBegun: boolean } | undefined
  /**
   * True once a piece has to wait for the complete answer, with everything that follows it. A piece of HTML cannot be converted to Markdown yet, and
   * a file has no address before it is stored.
   */
  isHeld: boolean
  isSplit: boolean
  /** The id of the open message. */
  message: string | undefined
  /** The files that the open message links to. */
  files: readonly ShownFile[]
  kept: NormalizedResponse['chat_metadata']
  /** The number of messages of the complete answer that were compared with the client's. */
  completed: number
  isChanged: boolean
}

export function createRunTextWriter({ emit, speaker, fileAddress }: TextDeps): TextWriter {
  const open: OpenText = {
    emit,
    fileAddress,
    speaker,
    response: undefined,
    texts: [],
    speakers: [],
    last: undefined,
    isHeld: false,
    isSplit: true,
    message: undefined,
    files: [],
    kept: undefined,
    completed: 0,
    isChanged: false,
  }
  return {
    write: (part, response) => writePart(part, response, open),
    complete: (parts, response) => completeMessage(parts, response, open),
    isExact: () =>
      !open.isChanged && open.completed === open.texts.length && open.speakers.every(each => each === open.speaker),
    separate() {
      open.last = undefined
    },
    split() {
      open.isSplit = true
    },
    endMessage: () => endMessage(open),
    speakAs(next) {
      open.speaker = next
    },
    keep(metadata) {
      open.kept = metadata
    },
  }
}

function writePart(part: Part, response: string, open: OpenText): void {
  open.isHeld ||= isFilePart(part) || (part.kind === 'text' && part.mime === 'text/html')
  if (standsAlone(part)) open.isSplit = true
  if (open.isHeld || (hasNoWords(part) && open.isSplit)) return
  if (open.isSplit) beginMessage(response, open)
  writeShown(part, open)
  if (standsAlone(part)) open.isSplit = true
}

/** Ends the open message and begins the next one. The client gets the new message once there is text to show. */
function beginMessage(response: string, open: OpenText): void {
  endMessage(open)
  open.response ??= response
  open.texts.push('')
  open.speakers.push(open.speaker)
  open.last = undefined
  open.isSplit = false
}

function writeShown(part: Part, open: OpenText): void {
  const block = writeBlock(part, open.fileAddress)
  const continues = part.kind === 'text' && part.mime === open.last?.mime && open.last.isBegun
  const begun = open.texts.at(-1) !== ''
  if (block !== '') writeDelta(begun && !continues ? `${blockBreak}${block}` : block, open)
  open.files = [...open.files, ...listFiles([part], open.fileAddress)]
  open.last = part.kind === 'text' ? { mime: part.mime, isBegun: continues || block !== '' } : undefined
}

/** Writes the rest of a complete message. An ended message cannot be changed, and the open one can only be continued. */
function completeMessage(parts: readonly Part[], response: string, open: OpenText): void {
  const at = open.completed
  open.completed += 1
  open.isChanged ||= open.response !== undefined && open.response !== response
  if (open.isChanged) return
  if (at === open.texts.length) beginMessage(response, open)
  const html = writeBlocks(parts, open.fileAddress)
  const text = open.texts[at] ?? ''
  const isOpen = at === open.texts.length - 1 && (text === '' || open.message !== undefined)
  if (isOpen && html.startsWith(text)) {
    open.files = listFiles(parts, open.fileAddress)
    if (html !== text) writeDelta(html.slice(text.length), open)
  } else open.isChanged ||= html !== text
}

function writeDelta(delta: string, open: OpenText): void {
  open.message ??= startMessage(open)
  open.texts[open.texts.length - 1] += delta
  open.emit({ type: EventType.TEXT_MESSAGE_CONTENT, messageId: open.message, delta })
}

function startMessage({ emit, speaker, speakers, response = '', texts }: OpenText): string {
  const messageId = nameSaid(response, texts.length)
  const start: Unstamped<TextMessageStartEvent> = {
    type: EventType.TEXT_MESSAGE_START,
    messageId,
    role: 'assistant',
    name: speakers.at(-1) ?? speaker,
  }
  emit(start)
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
