// Lists the parts of a message, in text and as a file.
import { defineAgent } from 'postern'

export default defineAgent({
  async handle({ parts, sender }, { attachment }) {
    const lines = await Promise.all(
      parts.map(async part => {
        if (part.kind === 'text') return `text ${part.content}`
        if (part.kind === 'artifact' && part.data !== undefined) return `data ${JSON.stringify(part.data)}`
        if (part.kind !== 'file' && part.kind !== 'artifact') return part.kind
        return `file ${part.name} ${part.mime} ${Buffer.from((await attachment(part)).bytes).toString()}`
      }),
    )
    const content = [`from ${sender.address}`, ...lines].join('\n')
    const contentBase64 = Buffer.from(content).toString('base64')
    const listFile = {
      kind: 'file',
      name: 'list.txt',
      mime: 'text/plain',
      bytes_ref: { kind: 'inline', data_base64: contentBase64 },
    } as const
    return { parts: [{ kind: 'text', mime: 'text/plain', content }, listFile] }
  },
})
