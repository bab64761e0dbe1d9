import type { NormalizedMessage } from '@postern/core'
import type { SwarmMessage, SwarmToolCall } from '@postern/transcript'
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
 * What a member's model is given, as chat completions want it: one system message, then the conversation, each call with its
 * result where that came, which may be long after the call. The message that is answered says who wrote it, as for every model. Pure.
 */
export function toChatMessages(rows: readonly SwarmMessage[], heard: Heard): readonly ChatMessage[] {
  const last = rows.findLastIndex(row => row.role === 'user' && row.mode === 'user')
  const system = rows.filter(({ role }) => role === 'system' || role === 'developer').map(({ content }) => content)
  const calls = new Map(rows.flatMap(({ tool_calls = [] }) => tool_calls.map(call => [call.id, call])))
  const ends = new Map(rows.map((row, index) => [row.role === 'tool' ? row.tool_call_id : undefined, index]))
  const said = rows.flatMap((row, index): readonly ChatMessage[] => {
    if (row.role === 'user') return [{ role: 'user', content: writeUser(row, index === last, heard) }]
    if (row.role === 'assistant' && row.content !== '') return [{ role: 'assistant', content: row.content }]
    const call =
      row.role === 'tool' && ends.get(row.tool_call_id) === index ? calls.get(row.tool_call_id ?? '') : undefined
    return call ? writeCall(call, row.content) : []
  })
  return [
    { role: 'system', content: [...system, dataBlockRules].filter(Boolean).join('\n\n') },
    ...joinNeighbours(said),
  ]
}

function writeUser({ content }: SwarmMessage, isLast: boolean, { message, flags }: Heard): string {
  return isLast ? formatHeardMessage(message, flags) : guardWords(clipText(content, maxWords))
}

function writeCall({ id, function: { name, arguments: args } }: SwarmToolCall, result: string): readonly ChatMessage[] {
  const written = { name, arguments: JSON.stringify(args) }
  return [
    { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: written }] },
    { role: 'tool', tool_call_id: id, content: result },
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
