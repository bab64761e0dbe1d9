// Declares the memory that an agent keeps for each conversation and each person.
import type { Json } from '@postern/message'

/** JSON that an agent stores for each thread. It is written together with the agent's answer, or not at all. */
export interface AgentState<State = Json> {
  get(): Promise<State | undefined>
  set(value: State): void
}

/** JSON that an agent stores for each person. Turns of several conversations may change it concurrently. */
export interface PersonState {
  /** Returns the state, including the changes of this turn. */
  get(): Promise<Json | undefined>
  /**
   * Sets the state when the answer is committed: to a value, or to the result of a function of the state at that moment. The function runs again if
   * another turn commits first, so it must have no side effects. If it returns undefined, the state stays as it is.
   */
  set(change: Json | ((state: Json | undefined) => Json | undefined | Promise<Json | undefined>)): void
}
