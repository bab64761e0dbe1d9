// Finds the reason why a message got no answer, or that it got one.
import type { WhyFacts } from './facts.ts'
import type { Reason, Rule } from './reason.ts'
import { findReason } from './reason.ts'
import {
  answeredMessage,
  lateAnswer,
  ownAction,
  repeatedMessage,
  replayedAnswer,
  retractedAnswer,
} from './rules/answered-messages.ts'
import { undeliveredAnswer } from './rules/delivery.ts'
import { failedTurn, silentTurn } from './rules/failed-turns.ts'
import { openTurn } from './rules/open-turns.ts'
import { openRequirement } from './rules/requirement.ts'
import { takenBackMessage, withheldMessage } from './rules/withheld-messages.ts'

/** The rules in order of precedence. The first one with a reason counts. */
const rules: readonly Rule<WhyFacts>[] = [
  takenBackMessage,
  replayedAnswer,
  withheldMessage,
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

/** Returns the reason of a message. It is cheap enough for each row of a list. */
export function reasonOf(facts: WhyFacts): Reason {
  return (
    findReason(rules, facts) ?? {
      code: 'unknown',
      sentence: `In the state "${facts.turn?.state ?? 'ignored'}" for an unknown reason`,
      since: facts.message.receivedAt,
      fix: { text: 'Report this with a trace of the message.', command: `npx postern show "#${facts.message.number}"` },
    }
  )
}
