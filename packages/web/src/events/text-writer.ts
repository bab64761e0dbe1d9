import type { TextMessageStartEvent } from '@ag-ui/core'
import { EventType } from '@ag-ui/core'
import type { NormalizedResponse, Part } from '@postern/core'
import type { FileAddress, ShownFile } from '../parts/write-block.ts'
import { blockBreak, listFiles, writeBlock, writeBlocks } from '../parts/write-block.ts'
import type { EmitEvent, Unstamped } from './emit.ts'

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
