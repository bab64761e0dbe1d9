/** An operation that is run again from its start with each answer it has asked for, until none is missing. */
interface Trial<T = unknown> {
  readonly operation: () => T
  readonly names: readonly string[]
  /** What it has sent and asked so far, in order. */
  readonly steps: { readonly id: number; readonly step: unknown }[]
  /** How many of them it has come to in this run. */
  at: number
  isBrokenOff: boolean
  outcome: { readonly value: T } | { readonly isAlone: true } | undefined
}

/** `names`: what it touches; no other operation of the same wave names any of it. */
interface LockstepOperation<T> {
  readonly names?: readonly string[]
  readonly operation: () => T
}

/** Runs operations side by side, so that what they ask goes to a server that is far in one way for all of them. */
interface Lockstep {
  /** Whether an operation is running that can be broken off. */
  isRunning(): boolean
  /** What the operation sends or asks next: as it was at its last run, or made now. */
  takeStep<S>(id: number, make: () => S): S
  /** Breaks the operation off, until `answer` was called. */
  suspend(): void
  /** Within an operation: what these readings ask goes in one way, too. */
  together<T>(readings: readonly (() => T)[]): readonly T[]
  /** Breaks it off as long as another one that is not over has named it. */
  reserve(name: string): void
  /** Breaks it off for good: it is run alone behind the others. */
  standAlone(): void
  /**
   * `answer` gets the answers to all that was asked, and says whether anything was.
   * @throws what an operation or `answer` throws
   */
  run<T>(operations: readonly LockstepOperation<T>[], answer: () => boolean): readonly T[]
}

// Thrown through code that knows nothing of it, often: an error each time would cost its stack.
const suspension = new Error('an operation waits for an answer')
const parting = new Error('an operation stands alone')

interface LockstepState {
  current: Trial | undefined
  holders: Map<string, Trial>
}

export function createLockstep(): Lockstep {
  const state: LockstepState = { current: undefined, holders: new Map() }
  return {
    isRunning: () => state.current !== undefined,
    takeStep: (id, make) => (state.current ? takeStepOf(state.current, id, make) : make()),
    suspend() {
      if (state.current) breakOff(state.current)
    },
    together: <T>(readings: readonly (() => T)[]) =>
      state.current ? readAll(state.current, state, readings) : readings.map(read => read()),
    reserve(name) {
      const { current, holders } = state
      if (!current) return
      const holder = holders.get(name)
      if (holder && holder !== current && !holder.outcome) breakOff(current)
      holders.set(name, current)
    },
    standAlone() {
      if (state.current) throw parting
    },
    run<T>(operations: readonly LockstepOperation<T>[], answer: () => boolean): readonly T[] {
      const trials = operations.map(beginTrial)
      state.holders = new Map(trials.flatMap(trial => trial.names.map(name => [name, trial] as const)))
      try {
        runAll(trials, state, answer)
      } catch (error) {
        for (const { outcome } of trials) forgetOutcome(outcome)
        throw error
      }
      return trials.map(({ outcome, operation }) => (outcome && 'value' in outcome ? outcome.value : operation()))
    },
  }
}

function beginTrial<T>({ names = [], operation }: LockstepOperation<T>): Trial<T> {
  return { operation, names, steps: [], at: 0, isBrokenOff: false, outcome: undefined }
}

/** Nobody gets it: a promise among them may still fail, which must end nothing else. */
function forgetOutcome(outcome: Trial['outcome']): void {
  if (outcome && 'value' in outcome) void Promise.resolve(outcome.value).catch(() => undefined)
}

function runAll(trials: readonly Trial[], state: LockstepState, answer: () => boolean): void {
  let open = trials
  while (open.length > 0) {
    const left = open.filter(trial => !attempt(trial, state))
    const hasAsked = left.length > 0 && answer()
    if (!hasAsked && left.length === open.length) throw new Error('operations wait for each other')
    open = left
  }
}

/** @returns whether it has come to an end */
function attempt(trial: Trial, state: LockstepState): boolean {
  const before = state.current
  state.current = trial
  trial.at = 0
  trial.isBrokenOff = false
  try {
    const value = trial.operation()
    // An asynchronous operation tells by its promise that it was broken off.
    if (trial.isBrokenOff) void Promise.resolve(value).catch(() => undefined)
    else trial.outcome = { value }
  } catch (error) {
    if (error === parting) trial.outcome = { isAlone: true }
    else if (!trial.isBrokenOff) throw error
  } finally {
    state.current = before
  }
  return trial.outcome !== undefined
}

const idOfReadings = -1

/** Each reading is an attempt of its own, so that one that waits does not keep the next from asking. */
function readAll<T>(parent: Trial, state: LockstepState, readings: readonly (() => T)[]): readonly T[] {
  const trials = takeStepOf(parent, idOfReadings, () => readings.map(operation => beginTrial({ operation })))
  const left = trials.filter(trial => !trial.outcome && !attempt(trial, state))
  if (left.length > 0) breakOff(parent)
  return trials.map(({ outcome }) => {
    if (!outcome || !('value' in outcome)) throw parting
    return outcome.value
  })
}

function breakOff(trial: Trial): never {
  trial.isBrokenOff = true
  throw suspension
}

function takeStepOf<S>(trial: Trial, id: number, make: () => S): S {
  const known = trial.steps[trial.at]
  if (known && known.id !== id) throw new Error('an operation does not do the same when it is run again')
  const step = known ? (known.step as S) : make()
  if (!known) trial.steps.push({ id, step })
  trial.at += 1
  return step
}
