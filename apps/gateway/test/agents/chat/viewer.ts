// Reports the size of each file, or the reason why it cannot be read. After the word `careless`, the error ends its turn.
import type { FilePart, NormalizedMessage } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

export async function handle({ parts }: NormalizedMessage, { attachment }: AgentContext): Promise<string> {
  const isCareless = parts.some(part => part.kind === 'text' && part.content === 'careless')
  const files = parts.filter((part): part is FilePart => part.kind === 'file')
  const readings = files.map(async file => {
    const result = await attachment(file).catch(error => {
      if (isCareless) throw error
      return String(error)
    })
    return typeof result === 'string' ? result : `${result.bytes.length} bytes`
  })
  return (await Promise.all(readings)).join('; ')
}
