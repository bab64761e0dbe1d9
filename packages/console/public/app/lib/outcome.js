// Describes the outcome of a message in a few words, if the gateway gives no sentence.

/** @type {Record<string, readonly [string, string]>} */
const states = {
  received: ['Waits for its turn', 'wait'],
  working: ['The agent is answering', 'wait'],
  answered: ['Answered', 'good'],
  failed: ['The agent failed', 'bad'],
  ignored: ['Ignored', 'muted'],
}

/** @type {Record<string, string>} */
const tones = { answered: 'good', failed: 'bad', ignored: 'muted', received: 'wait', working: 'wait' }

/** @param {any} summary @returns {{ outcome: string, tone: string }} */
export function describeOutcome({ state, flags = [], why, deliveries = [] }) {
  const isWaiting = typeof why === 'string' && why.startsWith('Waits')
  const isLate = deliveries.includes('later') || deliveries.includes('dead')
  const tone = isLate ? (deliveries.includes('dead') ? 'bad' : 'warn') : isWaiting ? 'wait' : (tones[state] ?? 'muted')
  if (typeof why === 'string' && why !== '') return { outcome: why, tone }
  const [words = String(state)] = states[state] ?? []
  const flagged = flags.length > 0 ? `: ${flags.join(', ').replaceAll('_', ' ')}` : ''
  return { outcome: `${words}${flagged}`, tone }
}
