// Composes the prompt of one turn: system text, history and the new message, stable parts first for caches.
import type { HistoricalMessage, HistoricalSender, NormalizedMessage, Part } from '@postern/message'
import { renderAgentChain } from '@postern/message'
import { readReceivedText } from '../kind/received-text.ts'
import type { Delimiter } from './data-block.ts'
import { clipText, explainDataBlocks, formatDataBlock } from './data-block.ts'
import { describeAttachments, describeCurrentSender, describeWriter, isQuote } from './evidence.ts'
import type { ChatMessage, ImageOrNote } from './messages.ts'
import { toAssistantMessages } from './messages.ts'

/** The maximum length of a message for a model, characters. */
const maxTextChars = 100_000

interface PromptInput {
  /** The operator's own text. */
  readonly prompt: string
  readonly turns: readonly HistoricalMessage[]
  readonly message: NormalizedMessage
  /** The delimiter of the data blocks of this conversation. */
  readonly delimiter: Delimiter
  readonly flags: readonly string[]
  readonly images: readonly ImageOrNote[]
  /** True if calls of earlier turns are included. */
  readonly withCalls: boolean
  /** The index of the turn after which the endpoint's cache gets a mark; absent if there is no mark. */
  readonly cacheBreakpointAfter?: number | undefined
}

/**
 * Composes the conversation for chat completions: the operator's text, then alternating messages of user and assistant. For prompt caches, the
 * parts that stay identical byte by byte come first, and the message comes last. The function has no side effects.
 */
export function composePrompt({
  prompt,
  turns,
  message,
  delimiter,
  flags,
  images,
  withCalls,
  cacheBreakpointAfter,
}: PromptInput): readonly ChatMessage[] {
  const hasUnansweredTurn = turns.at(-1)?.role === 'user'
  const answeredTurns = hasUnansweredTurn ? turns.slice(0, -1) : turns
  const unansweredPieces = hasUnansweredTurn ? turns.slice(-1).flatMap(turn => formatPieces(turn, delimiter)) : []
  const text = [...unansweredPieces, formatReceivedMessage(message, { flags, delimiter })].join('\n\n')
  return [
    {
      role: 'system',
      content: [prompt.trim(), explainDataBlocks(delimiter), ...describeAgentChain(message)]
        .filter(Boolean)
        .join('\n\n'),
    },
    // The templates of many models reject a conversation that begins with an assistant.
    ...(answeredTurns[0]?.role === 'assistant' ? [createOpeningMessage(delimiter)] : []),
    ...answeredTurns.flatMap((turn, index) => {
      const messages = toMessages(turn, { withCalls, delimiter })
      return index === cacheBreakpointAfter ? markLastMessage(messages) : messages
    }),
    { role: 'user', content: images.length > 0 ? [{ type: 'text', text }, ...images] : text },
  ]
}

/** Describes the agent chain after the stable part. It returns nothing if the chain has no agent (MN-8.3). */
function describeAgentChain({ recipient_capabilities: { agent_chain: chain } }: NormalizedMessage): readonly string[] {
  return chain ? [renderAgentChain(chain)] : []
}

/** Marks the last message for prompt caches, in the form of Anthropic's models and of proxies in front of them (`cache_control`). */
function markLastMessage(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const lastMessage = messages.at(-1)
  if (typeof lastMessage?.content !== 'string') return messages
  const content = [{ type: 'text', text: lastMessage.content, cache_control: { type: 'ephemeral' } }] as const
  return [...messages.slice(0, -1), { ...lastMessage, content } as ChatMessage]
}

function createOpeningMessage(delimiter: Delimiter): ChatMessage {
  return { role: 'user', content: formatDataBlock(delimiter, { note: 'You spoke first.' }) }
}

function toMessages(
  turn: HistoricalMessage,
  { withCalls, delimiter }: Pick<PromptInput, 'withCalls' | 'delimiter'>,
): readonly ChatMessage[] {
  if (turn.role === 'assistant') return toAssistantMessages(turn.parts, withCalls)
  return [{ role: 'user', content: formatPieces(turn, delimiter).join('\n\n') }]
}

export function formatReceivedMessage(
  message: NormalizedMessage,
  { flags, delimiter }: Pick<PromptInput, 'flags' | 'delimiter'>,
): string {
  const evidence = { ...describeCurrentSender(message, flags), ...describeAttachments(message.parts) }
  return formatPiece(evidence, message.parts, delimiter)
}

/** Formats one text for each writer of a turn. */
function formatPieces(turn: HistoricalMessage, delimiter: Delimiter): readonly string[] {
  return splitWriters(turn).map(({ writer, parts }) =>
    formatPiece({ ...describeWriter(writer), ...describeAttachments(parts) }, parts, delimiter),
  )
}

function formatPiece(
  evidence: Parameters<typeof formatDataBlock>[1],
  parts: readonly Part[],
  delimiter: Delimiter,
): string {
  const text = clipText(readReceivedText({ parts: parts.filter(part => !isQuote(part)) }), maxTextChars)
  return [formatDataBlock(delimiter, evidence), text].filter(Boolean).join('\n')
}

interface WriterPiece {
  readonly writer: HistoricalSender
  readonly parts: Part[]
}

/** Matches the name of another person who continues a turn. The history puts it into a separate part that nobody else can write (`HistoryView`). */
const speakerPattern = /^(@[^\s@]+@[^\s@]+):$/u

function splitWriters({ sender, writers = [sender], parts }: HistoricalMessage): readonly WriterPiece[] {
  const pieces: WriterPiece[] = [{ writer: writers[0] ?? sender, parts: [] }]
  for (const part of parts) {
    const [, speakerName] = (part.kind === 'text' && speakerPattern.exec(part.content)) || []
    if (speakerName) pieces.push({ writer: writers[pieces.length] ?? { address: speakerName }, parts: [] })
    else pieces.at(-1)?.parts.push(part)
  }
  return pieces.filter(({ parts }, index) => parts.length > 0 || index === 0)
}
