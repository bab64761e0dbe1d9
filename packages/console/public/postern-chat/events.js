/** Reads the events of AG-UI from a stream of the chat. */

/** @typedef {{ type: string, [member: string]: any }} ChatEvent */

/**
 * Reads the server-sent events of an answer (HTML standard, 9.2.6), whose data is JSON.
 * @param {Response} answer
 * @returns {AsyncGenerator<ChatEvent>}
 */
export async function* readEvents(answer) {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  try {
    for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
      const blocks = (rest + piece.value).split(/\r?\n\r?\n/)
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const data = block.split(/\r?\n/).flatMap(line => (line.startsWith('data:') ? [line.slice(5).trimStart()] : []))
        if (data.length > 0) yield JSON.parse(data.join('\n'))
      }
    }
  } finally {
    await reader?.cancel().catch(() => undefined)
  }
}

/** @param {unknown} value what somebody else wrote */
export function readText(value) {
  return typeof value === 'string' ? value : ''
}

/** Returns the objects of a list. @param {unknown} value @returns {any[]} */
export function listOf(value) {
  return Array.isArray(value) ? value.filter(each => typeof each === 'object' && each !== null) : []
}
