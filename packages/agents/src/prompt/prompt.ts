import type { HistoricalMessage, HistoricalSender, NormalizedMessage, Part } from '@postern/core'
import { renderAgentChain } from '@postern/core'
import { readReceivedText } from '../kind/running-agents.ts'
import { clipText, dataBlockRules, formatDataBlock, guardWords } from './data-block.ts'
import { describeSpeaker, describeThings, describeWriter, isQuote } from './evidence.ts'
import type { ChatMessage, ImagePiece } from './messages.ts'
import { toAssistantMessages } from './messages.ts'

/** Characters of a message for a model. */
const maxWords = 100_000

interface PromptDeps {
  /** The operator's own text. */
  readonly prompt: string
  readonly turns: readonly HistoricalMessage[]
  readonly message: NormalizedMessage
  readonly flags: readonly string[]
  readonly images: readonly ImagePiece[]
  /** Whether calls of earlier turns are included. */
  readonly withCalls: boolean
  /** Index of the turn after which the endpoint's cache has a mark; absent: none. */
  readonly cacheBreakpointAfter?: number | undefined
}

/**
 * The conversation for chat completions: the operator's text, then user and assistant in turn. The parts that stay the same come first,
 * byte by byte, for prompt caches; the message is the end. Pure.
 */
export function composePrompt({
  prompt,
  turns,
  message,
  flags,
  images,
  withCalls,
  cacheBreakpointAfter,
}: PromptDeps): readonly ChatMessage[] {
  const isUnanswered = turns.at(-1)?.role === 'user'
  const before = isUnanswered ? turns.slice(0, -1) : turns
  const unanswered = isUnanswered ? turns.slice(-1).flatMap(formatPieces) : []
  const text = [...unanswered, formatReceivedMessage(message, flags)].join('\n\n')
  return [
    { role: 'system', content: [prompt.trim(), dataBlockRules, ...chainCue(message)].filter(Boolean).join('\n\n') },
    // Templates of many models refuse a conversation that an assistant begins.
    ...(before[0]?.role === 'assistant' ? [opener] : []),
    ...before.flatMap((turn, index) => {
      const messages = toMessages(turn, withCalls)
      return index === cacheBreakpointAfter ? markLast(messages) : messages
    }),
    { role: 'user', content: images.length > 0 ? [{ type: 'text', text }, ...images] : text },
  ]
}

/** After the stable part. Without an agent in the chain there is none (MN-8.3). */
function chainCue({ recipient_capabilities: { agent_chain: chain } }: NormalizedMessage): readonly string[] {
  return chain ? [renderAgentChain(chain)] : []
}

/** The form of Anthropic's models and of proxies before them (prompt caching, `cache_control`). */
function markLast(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const last = messages.at(-1)
  if (typeof last?.content !== 'string') return messages
  const content = [{ type: 'text', text: last.content, cache_control: { type: 'ephemeral' } }] as const
  return [...messages.slice(0, -1), { ...last, content } as ChatMessage]
}

const opener: ChatMessage = { role: 'user', content: formatDataBlock({ note: 'You spoke first.' }) }

function toMessages(turn: HistoricalMessage, withCalls: boolean): readonly ChatMessage[] {
  if (turn.role === 'assistant') return toAssistantMessages(turn.parts, withCalls)
  return [{ role: 'user', content: formatPieces(turn).join('\n\n') }]
}

export function formatReceivedMessage(message: NormalizedMessage, flags: readonly string[]): string {
  return formatPiece({ ...describeSpeaker(message, flags), ...describeThings(message.parts) }, message.parts)
}

/** One piece for each writer of a turn. */
function formatPieces(turn: HistoricalMessage): readonly string[] {
  return splitWriters(turn).map(({ writer, parts }) =>
    formatPiece({ ...describeWriter(writer), ...describeThings(parts) }, parts),
  )
}

function formatPiece(facts: Parameters<typeof formatDataBlock>[0], parts: readonly Part[]): string {
  const words = clipText(readReceivedText({ parts: parts.filter(part => !isQuote(part)) }), maxWords)
  return [formatDataBlock(facts), guardWords(words)].filter(Boolean).join('\n')
}

interface Piece {
  readonly writer: HistoricalSender
  readonly parts: Part[]
}

/** If another person continues a turn, the history names them in a part of its own that nobody else can write (`HistoryView`). */
const speakerPattern = /^(@[^\s@]+@[^\s@]+):$/u

function splitWriters({ sender, writers = [sender], parts }: HistoricalMessage): readonly Piece[] {
  const pieces: Piece[] = [{ writer: writers[0] ?? sender, parts: [] }]
  for (const part of parts) {
    const [, from] = (part.kind === 'text' && speakerPattern.exec(part.content)) || []
    if (from) pieces.push({ writer: writers[pieces.length] ?? { address: from }, parts: [] })
    else pieces.at(-1)?.parts.push(part)
  }
  return pieces.filter(({ parts }, index) => parts.length > 0 || index === 0)
}
