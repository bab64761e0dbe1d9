// Calls tools in every way, as the first word of a message says, and reports the results that it received.
import type { NormalizedMessage, Part, ToolCallPart } from '@postern/message'
import { describeApproval, plainTextOf } from '@postern/message'
import type { AgentChunk, AgentContext } from '@postern/pipeline'

const makeCall = (name: string): ToolCallPart => ({ kind: 'tool_call', id: `${name}-1`, name, args: {} })

/** Asks for permission for a refund, like a tool with a policy. */
function askToRefund({ requireConsent }: AgentContext, approver: object): AgentChunk {
  const action = {
    action_id: 'refund-action',
    kind: 'refund',
    summary: 'Refund?',
    preview: {},
    arguments: [],
    tool_call_id: 'refund-1',
  }
  return requireConsent({ message: 'Refund?', ...describeApproval(action), ...approver })
}

export async function* handle(message: NormalizedMessage, context: AgentContext): AsyncGenerator<AgentChunk> {
  const text = plainTextOf(message.parts)
  if (text.startsWith('pick')) yield makeCall('pick')
  else if (text.startsWith('search')) yield { ...makeCall('search'), result: 'found' }
  else if (text.startsWith('refund')) {
    const byOperator = text.includes('operator')
    if (byOperator) yield { trace: [makeCall('refund')] }
    else yield makeCall('refund')
    yield askToRefund(context, byOperator ? { approver: 'operator' } : {})
  } else if (text.startsWith('count')) {
    yield { trace: [makeCall('count')] }
    yield 'counted'
  } else if (text.startsWith('fail')) {
    yield 'I look '
    yield makeCall('search')
    throw new Error('broken')
  } else yield `heard: ${message.parts.flatMap(nameResult).join(', ')}`
}

function nameResult(part: Part): readonly string[] {
  return part.kind === 'tool_call' ? [`${part.name} ${String(part.result)}`] : []
}
