// Calls its own tool, which returns a picture, and repeats the result of the chat's own tool.
import type { NormalizedMessage, Part } from '@postern/message'

const picture: Part = {
  kind: 'file',
  name: 'roof.png',
  mime: 'image/png',
  bytes_ref: { kind: 'inline', data_base64: 'iVBORw0KGgo=' },
}
const caption: Part = { kind: 'text', mime: 'text/plain', content: 'The roof, from above' }

export async function* handle({ parts }: NormalizedMessage) {
  const [toolCall] = parts.filter(part => part.kind === 'tool_call')
  if (toolCall) yield JSON.stringify(toolCall.result)
  else if (parts.some(part => part.kind === 'text' && part.content === 'yours')) {
    yield { kind: 'tool_call', id: 'call-2', name: 'camera', args: {} }
  } else {
    yield { kind: 'tool_call', id: 'call-1', name: 'photograph', args: { of: 'roof' } }
    const result = { parts: [caption, picture], taken: 1 }
    yield { kind: 'tool_call', id: 'call-1', name: 'photograph', args: { of: 'roof' }, result }
    yield 'Here it is.'
  }
}
