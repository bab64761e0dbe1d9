// Writes the text of an answer as the messages of a run, with the same ids as in the history.
import type { Event, TextMessageStartEvent } from '@ag-ui/core'
import { EventType } from '@ag-ui/core'
import type { NormalizedResponse, Part } from '@postern/message'
import { isFilePart } from '@postern/message'
import { hasNoWords, nameSaid, standsAlone } from '@postern/transcript'
import type { FileAddress, FileView } from '../render.ts'
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
  /** Lets the next part begin a new message. It ends the open one, unless the rest of it has to wait for the complete answer. */
  split(): void
  endMessage(): void
  /** Sets the speaker of the next message. */
  setSpeaker(speaker: string): void
  /** Sets the metadata that the agent wants the chat to store with its answer. */
  setMetadata(metadata: NormalizedResponse['chat_metadata']): void
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
  last: { readonly mime: string; readonly hasBegun: boolean } | undefined
  /**
   * True once a piece has to wait for the complete answer, with everything that follows it. A piece of HTML cannot be converted to Markdown yet, and
   * a file has no address before it is stored.
   */
  isWithheld: boolean
  /** True if a part waits that came since the last call of a tool. */
  hasWaitingPart: boolean
  /** True if a message has its place before a call that the client already has. */
  isMisplaced: boolean
  isSplit: boolean
  /** The id of the open message. */
  message: string | undefined
  /** The files that the open message links to. */
  files: readonly FileView[]
  chatMetadata: NormalizedResponse['chat_metadata']
  /** The number of messages of the complete answer that were compared with the client's. */
  completedCount: number
  isChanged: boolean
}

export function createRunTextWriter({ emit, speaker, fileAddress }: TextDeps): TextWriter {
  const text: OpenText = {
    emit,
    fileAddress,
    speaker,
    response: undefined,
    texts: [],
    speakers: [],
    last: undefined,
    isWithheld: false,
    hasWaitingPart: false,
    isMisplaced: false,
    isSplit: true,
    message: undefined,
    files: [],
    chatMetadata: undefined,
    completedCount: 0,
    isChanged: false,
  }
  return {
    write: (part, response) => writePart(part, response, text),
    complete: (parts, response) => completeMessage(parts, response, text),
    isExact: () =>
      !text.isChanged &&
      !text.isMisplaced &&
      text.completedCount === text.texts.length &&
      text.speakers.every(speaker => speaker === text.speaker),
    separate() {
      text.last = undefined
    },
    split: () => splitMessages(text),
    endMessage: () => endMessage(text),
    setSpeaker(next) {
      text.speaker = next
    },
    setMetadata(metadata) {
      text.chatMetadata = metadata
    },
  }
}

function writePart(part: Part, response: string, text: OpenText): void {
  text.isWithheld ||= isFilePart(part) || (part.kind === 'text' && part.mime === 'text/html')
  if (standsAlone(part)) text.isSplit = true
  if (hasNoWords(part) && text.isSplit) return
  text.hasWaitingPart = text.isWithheld
  if (text.isWithheld) return
  if (text.isSplit) beginMessage(response, text)
  writeVisible(part, text)
  if (standsAlone(part)) text.isSplit = true
}

function splitMessages(text: OpenText): void {
  // The open message keeps its place. A waiting part that belongs to a later message gets its place only at the end.
  text.isMisplaced ||= text.hasWaitingPart && text.isSplit
  if (!text.isWithheld) endMessage(text)
  text.hasWaitingPart = false
  text.isSplit = true
}

/** Ends the open message and begins the next one. The client gets the new message once there is text to show. */
function beginMessage(response: string, text: OpenText): void {
  endMessage(text)
  text.response ??= response
  text.texts.push('')
  text.speakers.push(text.speaker)
  text.last = undefined
  text.isSplit = false
}

function writeVisible(part: Part, text: OpenText): void {
  const block = writeBlock(part, text.fileAddress)
  const continues = part.kind === 'text' && part.mime === text.last?.mime && text.last.hasBegun
  const hasText = text.texts.at(-1) !== ''
  if (block !== '') writeDelta(hasText && !continues ? `${blockBreak}${block}` : block, text)
  text.files = [...text.files, ...listFiles([part], text.fileAddress)]
  text.last = part.kind === 'text' ? { mime: part.mime, hasBegun: continues || block !== '' } : undefined
}

/** Writes the rest of a complete message. An ended message cannot be changed, and the open one can only be continued. */
function completeMessage(parts: readonly Part[], response: string, openText: OpenText): void {
  const index = openText.completedCount
  openText.completedCount += 1
  openText.isChanged ||= openText.response !== undefined && openText.response !== response
  if (openText.isChanged) return
  if (index === openText.texts.length) beginMessage(response, openText)
  const markdown = writeBlocks(parts, openText.fileAddress)
  const text = openText.texts[index] ?? ''
  const isOpen = index === openText.texts.length - 1 && (text === '' || openText.message !== undefined)
  if (isOpen && markdown.startsWith(text)) {
    openText.files = listFiles(parts, openText.fileAddress)
    if (markdown !== text) writeDelta(markdown.slice(text.length), openText)
  } else openText.isChanged ||= markdown !== text
}

function writeDelta(delta: string, text: OpenText): void {
  text.message ??= startMessage(text)
  text.texts[text.texts.length - 1] += delta
  text.emit({ type: EventType.TEXT_MESSAGE_CONTENT, messageId: text.message, delta })
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

function endMessage(text: OpenText): void {
  const { message, files, chatMetadata } = text
  const metadata = { ...chatMetadata, ...(files.length > 0 && { files }) }
  const metadataMember = Object.keys(metadata).length > 0 ? { metadata } : {}
  if (message !== undefined) text.emit({ type: EventType.TEXT_MESSAGE_END, messageId: message, ...metadataMember })
  text.message = undefined
  text.files = []
}
