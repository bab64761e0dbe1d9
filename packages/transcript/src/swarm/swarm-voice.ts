import type { AnswerRules } from './answer-checks.ts'
import type { SpeechGate } from './speech-gate.ts'
import { createSpeechGate } from './speech-gate.ts'

const between = '\n\n'

/** What the user hears of a turn while it is made. What was heard is part of the answer, whatever follows. */
export interface SwarmVoice {
  /** A model begins to speak: its words go through a gate of their own. */
  begin(rules: AnswerRules): SpeechGate
  /** Everything: what was heard, and the end of the turn. */
  finish(answer: string): string
}

/** `hear` is told the words, in order; models that spoke before the one that answers are parted from it by an empty line. */
export function createSwarmVoice(hear: (words: string) => void): SwarmVoice {
  let before = ''
  let gate: SpeechGate | undefined

  function close(): void {
    if (gate && gate.heard !== '') before += before === '' ? gate.heard : between + gate.heard
    gate = undefined
  }

  return {
    begin(rules) {
      close()
      const spoken = before
      let isBegun = false
      gate = createSpeechGate(rules, words => {
        hear(isBegun || spoken === '' ? words : between + words)
        isBegun = true
      })
      return gate
    },
    finish(answer) {
      const isGoingOn = gate !== undefined && gate.heard !== '' && answer.startsWith(gate.heard)
      if (!isGoingOn) close()
      return [before, answer].filter(Boolean).join(between)
    },
  }
}
