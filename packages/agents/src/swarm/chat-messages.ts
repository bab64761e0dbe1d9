import type { NormalizedMessage } from '@postern/core'
import type { SwarmMessage } from '@postern/transcript'
import { clipText } from '../openai/clip-text.ts'
import { dataBlockRules, guardWords } from '../openai/data-block.ts'
import type { ChatMessage } from '../openai/messages.ts'
import { formatHeardMessage } from '../openai/prompt.ts'

const maxWords = 100_000

export interface Heard {
  readonly message: NormalizedMessage
  readonly flags: readonly string[]
}

/**
 * What a member's model is given, as chat completions want it: one system message, then the conversation, each call followed by its result
 * wherever that stood. The message that is answered says who wrote it, as for every model. Pure.
 */
export function toChatMessages(rows: readonly SwarmMessage[], heard: Heard): readonly ChatMessage[] {
  const results = new Map(
    rows.flatMap(row => (row.role === 'tool' && row.tool_call_id ? [[row.tool_call_id, row.content]] : [])),
  )
  const last = rows.findLastIndex(row => row.role === 'user' && row.mode === 'user')
  const system = rows.filter(({ role }) => role === 'system' || role === 'developer').map(({ content }) => content)
  const said = rows.flatMap((row, index) => {
    if (row.role === 'user') return [{ role: 'user' as const, content: writeUser(row, index === last, heard) }]
    return row.role === 'assistant' ? writeAssistant(row, results) : []
  })
  return [
    { role: 'system', content: [...system, dataBlockRules].filter(Boolean).join('\n\n') },
    ...joinNeighbours(said),
  ]
}

function writeUser({ content }: SwarmMessage, isLast: boolean, { message, flags }: Heard): string {
  return isLast ? formatHeardMessage(message, flags) : guardWords(clipText(content, maxWords))
}

function writeAssistant(
  { content, tool_calls = [] }: SwarmMessage,
  results: ReadonlyMap<string, string>,
): readonly ChatMessage[] {
  const ended = tool_calls.filter(({ id }) => results.has(id))
  if (ended.length === 0) return content === '' ? [] : [{ role: 'assistant', content }]
  const calls = ended.map(({ id, function: { name, arguments: args } }) => {
    return { id, type: 'function', function: { name, arguments: JSON.stringify(args) } } as const
  })
  return [
    { role: 'assistant', content: content || null, tool_calls: calls },
    ...ended.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: results.get(id) ?? '' }) as const),
  ]
}

/** Templates of many models want user and assistant by turns, a user first. */
function joinNeighbours(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const joined: ChatMessage[] = []
  for (const message of messages) {
    const last = joined.at(-1)
    const isPlain = (message.role === 'user' || message.role === 'assistant') && !('tool_calls' in message)
    if (isPlain && last?.role === message.role && !('tool_calls' in last)) {
      joined[joined.length - 1] = {
        ...last,
        content: `${String(last.content)}\n\n${String(message.content)}`,
      } as ChatMessage
    } else joined.push(message)
  }
  return joined[0]?.role === 'assistant'
    ? [{ role: 'user', content: '(The conversation goes on.)' }, ...joined]
    : joined
}
