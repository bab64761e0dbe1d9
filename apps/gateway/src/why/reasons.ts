import type { WhyFacts } from './facts.ts'
import type { Reason, Rule } from './reason.ts'
import { firstReason } from './reason.ts'
import {
  answeredMessage,
  lateAnswer,
  ownAction,
  repeatedMessage,
  replayedAnswer,
  retractedAnswer,
} from './rules/answered.ts'
import { undeliveredAnswer } from './rules/delivery.ts'
import { failedTurn, silentTurn } from './rules/failed.ts'
import { keptMessage, takenBackMessage } from './rules/kept.ts'
import { openRequirement } from './rules/requirement.ts'
import { openTurn } from './rules/waiting.ts'

/** In order of precedence: the first that has a reason says it. */
const rules: readonly Rule<WhyFacts>[] = [
  takenBackMessage,
  replayedAnswer,
  keptMessage,
  openTurn,
  failedTurn,
  silentTurn,
  retractedAnswer,
  undeliveredAnswer,
  openRequirement,
  ownAction,
  lateAnswer,
  repeatedMessage,
  answeredMessage,
]

/** Why a message got no answer, or that it got one. Pure and cheap: for each row of a list, too. */
export function reasonOf(facts: WhyFacts): Reason {
  return (
    firstReason(rules, facts) ?? {
      code: 'unknown',
      sentence: `In the state "${facts.turn?.state ?? 'ignored'}", and nothing says why`,
      since: facts.message.receivedAt,
      fix: { text: 'Report this with a trace of the message.', command: `npx postern show "#${facts.message.number}"` },
    }
  )
}
