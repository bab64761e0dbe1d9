// Writes the text of an answer as the messages of a run, with the same ids as in the history.
import type { Event, TextMessageStartEvent } from '@ag-ui/core'
import { EventType } from '@ag-ui/core'
import type { NormalizedResponse, Part } from '@postern/message'
import { isFilePart } from '@postern/message'
import { isEmptyText, nameTextMessage, standsAlone } from '@postern/transcript'
import type { FileAddress, FileView } from '../render.ts'
import { blockBreak, listFiles, writeBlock, writeBlocks } from '../render.ts'

/** An event of AG-UI without its timestamp. */
export type Unstamped<E> = E extends Event ? Omit<E, 'timestamp'> : never

export type EmitEvent = (event: Unstamped<Event>) => void

/** A writer of the text of an answer as messages, in pieces or whole. `responseId` is the id of the answer. */
export interface TextWriter {
  /** Writes a piece. It continues the previous text if both have one type, as the gateway joins the pieces of an answer. */
  write(part: Part, responseId: string): void
  /** Writes the text that is missing of the next message of the complete answer. */
  complete(parts: readonly Part[], responseId: string): void
  /** Returns true if the client has exactly the messages that were completed. */
  isExact(): boolean
  /** Lets the next part begin a new block instead of continuing the previous text. */
  separate(): void
  /** Lets the next part begin a new message. Ends the open message, unless its remaining text has to wait for the complete answer. */
  split(): void
  endMessage(): void
  /** Sets the speaker of the next message. */
  setSpeaker(speaker: string): void
  /** Sets the metadata that the agent wants the chat to store with its answer. */
  setMetadata(metadata: NormalizedResponse['chat_metadata']): void
}

interface TextWriterDeps {
  readonly emit: EmitEvent
  readonly speaker: string
  readonly fileAddress?: FileAddress
}

interface OpenAnswerText {
  readonly emit: EmitEvent
  readonly fileAddress: FileAddress
  speaker: string
  /** The id of the answer that the messages belong to. */
  responseId: string | undefined
  /** The texts of the messages so far, and their speakers. */
  readonly texts: string[]
  readonly speakers: string[]
  /** The previous part, if it was text. */
  previousPart: { readonly mime: string; readonly hasBegun: boolean } | undefined
  /**
   * True once a piece has to wait for the complete answer, with everything that follows it. A piece of HTML cannot be converted to Markdown yet, and
   * a file has no address before it is stored.
   */
  isWithheld: boolean
  /** True if a part waits that arrived after the last call of a tool. */
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

export function createRunTextWriter({ emit, speaker, fileAddress }: TextWriterDeps): TextWriter {
  const text: OpenAnswerText = {
    emit,
    fileAddress,
    speaker,
    responseId: undefined,
    texts: [],
    speakers: [],
    previousPart: undefined,
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
    write: (part, responseId) => writePart(part, responseId, text),
    complete: (parts, response) => completeMessage(parts, response, text),
    isExact: () =>
      !text.isChanged &&
      !text.isMisplaced &&
      text.completedCount === text.texts.length &&
      text.speakers.every(speaker => speaker === text.speaker),
    separate() {
      text.previousPart = undefined
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

function writePart(part: Part, responseId: string, text: OpenAnswerText): void {
  text.isWithheld ||= isFilePart(part) || (part.kind === 'text' && part.mime === 'text/html')
  if (standsAlone(part)) text.isSplit = true
  if (isEmptyText(part) && text.isSplit) return
  text.hasWaitingPart = text.isWithheld
  if (text.isWithheld) return
  if (text.isSplit) beginMessage(responseId, text)
  writeVisible(part, text)
  if (standsAlone(part)) text.isSplit = true
}

function splitMessages(text: OpenAnswerText): void {
  // The open message keeps its place. A waiting part that belongs to a later message gets its place only at the end.
  text.isMisplaced ||= text.hasWaitingPart && text.isSplit
  if (!text.isWithheld) endMessage(text)
  text.hasWaitingPart = false
  text.isSplit = true
}

/** Ends the open message and begins the next one. The client gets the new message once there is text to show. */
function beginMessage(responseId: string, text: OpenAnswerText): void {
  endMessage(text)
  text.responseId ??= responseId
  text.texts.push('')
  text.speakers.push(text.speaker)
  text.previousPart = undefined
  text.isSplit = false
}

function writeVisible(part: Part, text: OpenAnswerText): void {
  const block = writeBlock(part, text.fileAddress)
  const continues = part.kind === 'text' && part.mime === text.previousPart?.mime && text.previousPart.hasBegun
  const hasText = text.texts.at(-1) !== ''
  if (block !== '') writeDelta(hasText && !continues ? `${blockBreak}${block}` : block, text)
  text.files = [...text.files, ...listFiles([part], text.fileAddress)]
  text.previousPart = part.kind === 'text' ? { mime: part.mime, hasBegun: continues || block !== '' } : undefined
}

/** Writes the missing end of a complete message. An ended message cannot be changed, and the open message can only be continued. */
function completeMessage(parts: readonly Part[], responseId: string, openText: OpenAnswerText): void {
  const index = openText.completedCount
  openText.completedCount += 1
  openText.isChanged ||= openText.responseId !== undefined && openText.responseId !== responseId
  if (openText.isChanged) return
  if (index === openText.texts.length) beginMessage(responseId, openText)
  const markdown = writeBlocks(parts, openText.fileAddress)
  const text = openText.texts[index] ?? ''
  const isOpen = index === openText.texts.length - 1 && (text === '' || openText.message !== undefined)
  if (isOpen && markdown.startsWith(text)) {
    openText.files = listFiles(parts, openText.fileAddress)
    if (markdown !== text) writeDelta(markdown.slice(text.length), openText)
  } else openText.isChanged ||= markdown !== text
}

function writeDelta(delta: string, text: OpenAnswerText): void {
  text.message ??= startMessage(text)
  text.texts[text.texts.length - 1] += delta
  text.emit({ type: EventType.TEXT_MESSAGE_CONTENT, messageId: text.message, delta })
}

function startMessage({ emit, speaker, speakers, responseId = '', texts }: OpenAnswerText): string {
  const messageId = nameTextMessage(responseId, texts.length)
  const start: Unstamped<TextMessageStartEvent> = {
    type: EventType.TEXT_MESSAGE_START,
    messageId,
    role: 'assistant',
    name: speakers.at(-1) ?? speaker,
  }
  emit(start)
  return messageId
}

function endMessage(text: OpenAnswerText): void {
  const { message, files, chatMetadata } = text
  const metadata = { ...chatMetadata, ...(files.length > 0 && { files }) }
  const metadataMember = Object.keys(metadata).length > 0 ? { metadata } : {}
  if (message !== undefined) text.emit({ type: EventType.TEXT_MESSAGE_END, messageId: message, ...metadataMember })
  text.message = undefined
  text.files = []
}
