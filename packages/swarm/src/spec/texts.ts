/** Texts that the swarm itself sends. */
export interface SwarmTexts {
  readonly placeholders: readonly string[]
  readonly operatorTimeout: string
  readonly restart: string
  readonly repeat: string
}

export const swarmTexts: SwarmTexts = {
  placeholders: [
    'Sorry, I missed that. Could you say it again?',
    'Could you repeat that, please?',
    'I am afraid I lost the thread. What was it?',
  ],
  operatorTimeout: 'Nobody is there to answer right now. Please try again later.',
  restart: 'Something went wrong. Start again from what the user said last.',
  repeat: 'Please repeat what you would like.',
}
