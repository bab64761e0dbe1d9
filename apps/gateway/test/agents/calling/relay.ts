// Calls the first address in its text with the rest of the text, and reports the caller and the outcome.
import type { NormalizedMessage } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

export async function handle(message: NormalizedMessage, context: AgentContext): Promise<string> {
  const { sender, recipient, parts, recipient_capabilities } = message
  const [next, ...textWords] = parts
    .map(part => (part.kind === 'text' ? part.content : ''))
    .join(' ')
    .split(' ')
    .filter(Boolean)
  const receiptText = `${recipient} heard ${sender.address} by ${sender.auth_method} at hop ${recipient_capabilities.agent_chain?.hop ?? 0}`
  if (!next || next === 'end') return receiptText
  try {
    const answer = await context.call(next, textWords.join(' ') || 'end')
    const text = answer.parts.map(part => (part.kind === 'text' ? part.content : part.kind)).join('')
    return `${receiptText}\n${answer.source.signedBy ? 'signed' : 'unsigned'} ${text}`
  } catch (error) {
    return `${receiptText}\n${(error as Error).name}: ${(error as Error).message}`
  }
}
