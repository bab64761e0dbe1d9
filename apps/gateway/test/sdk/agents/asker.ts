// Posts and answers with a file, or asks for consent first, depending on the message.
import { defineAgent, readMessageText } from 'postern'

export default defineAgent({
  handle(message, context) {
    const { policy_resolution } = message
    if (policy_resolution) return `They said ${policy_resolution.outcome}.`
    const text = readMessageText(message)
    if (text.includes('consent')) return context.requireConsent({ message: 'May I?', expires_in: 3_600 })
    if (text.includes('approval')) return context.requireConsent({ message: 'May they?', approver: 'operator' })
    const data_base64 = Buffer.from('nine to five').toString('base64')
    const times = {
      kind: 'file',
      name: 'times.txt',
      mime: 'text/plain',
      bytes_ref: { kind: 'inline', data_base64 },
    } as const
    context.post([{ kind: 'text', mime: 'text/markdown', content: 'Open until *five*.' }, times])
    return { parts: [{ kind: 'text', mime: 'text/markdown', content: 'Grüße!' }, times], subject: 'Öffnungszeiten' }
  },
})
