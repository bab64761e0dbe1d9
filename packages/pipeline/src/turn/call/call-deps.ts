// Declares the dependencies of a call to an agent.

import type { ActionList } from '../../actions/plan-actions.ts'
import type { TurnPerson } from '../../people/person-turn.ts'
import type { AgentState } from '../../ports/agent/agent-state.ts'
import type { AgentPerson } from '../../ports/records/people/person.ts'
import type { RunningAgent } from '../../ports/turn/running-agent.ts'
import type { TurnContext } from '../../ports/turn/turn-context.ts'
import type { RequirementList } from '../../requirements/requirements.ts'
import type { AnswerDraft } from '../answer/plan-answer.ts'
import type { TurnNotes } from '../notes/turn-notes.ts'
import type { TurnTrace } from '../trace/turn-trace.ts'

export interface CallDeps {
  readonly turnContext: TurnContext
  readonly runningAgent: RunningAgent
  readonly state: AgentState
  /** Returns the actions of the turn. The list is created when the agent acts for the first time. */
  openActions(): ActionList
  /** Returns the requirements of the turn. The list is created when the agent requires something for the first time. */
  openRequirements(): RequirementList
  readonly notes: TurnNotes
  /** The speaker, if the agent may know their other conversations. */
  readonly turnPerson: TurnPerson | undefined
  /** The sender as the agent sees them; undefined if nothing is proven. */
  readonly person: AgentPerson | undefined
  readonly draft: AnswerDraft
  readonly trace: TurnTrace
  /** Aborts when the process shuts down. */
  readonly stopSignal: AbortSignal
  /** Aborts when the store has ended the turn. */
  readonly endSignal: AbortSignal
}
