// Repeats the text of a message, with its channel.
import { defineAgent } from 'postern'

export default defineAgent({
  handle({ parts: [part], received_via }) {
    return part?.kind === 'text' ? `By ${received_via} you said: ${part.content}` : undefined
  },
})
