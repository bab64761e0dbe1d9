// Runs operations side by side, so that their statements share round trips.
/** The context of one run: the place where its operations ask, and the operation that holds each name. */
interface Run<Place> {
  readonly place: Place
  readonly holders: Map<string, Trial<Place>>
}

/** An operation that runs again from its start with each answer that it has asked for, until no answer is missing. */
interface Trial<Place, T = unknown> {
  readonly operation: () => T
  readonly names: readonly string[]
  readonly run: Run<Place>
  /** True if no other operation runs beside it. */
  readonly isAlone: boolean
  /** The time at which it began. Every run of the operation sees this time, so it does the same each time. */
  readonly begunAt: number
  /** The steps that it has sent and asked so far, in order. */
  readonly steps: { readonly id: number; readonly step: unknown }[]
  /** The number of steps that it has reached in this run. */
  at: number
  isBrokenOff: boolean
  outcome: { readonly value: T } | { readonly standsAlone: true } | undefined
}

/** An operation to run. `names`: names of what it reads and changes. No other operation of the same wave has one of these names. */
interface LockstepOperation<T> {
  readonly names?: readonly string[]
  readonly operation: () => T
}

interface Exchange<Place> {
  readonly place: Place
  /** Gets the answers to everything that was asked. Returns false if nothing was. */
  answer(): Promise<boolean>
}

/** Runs operations side by side, so that a remote server gets all their questions in one round trip. Several runs may be active at a time. */
export interface Lockstep<Place> {
  /**
   * Returns the place where the running operation asks.
   * @throws Error if none is running, because a reading after a wait is an operation of its own
   */
  place(): Place
  /** Returns true if an operation is running beside others. */
  hasCompany(): boolean
  /** Returns the time on the clock, which stands still for an operation. */
  now(): number
  /** Returns the next step that the operation sends or asks: that of its last run, or a new one. Outside an operation it makes a new one. */
  takeStep<S>(id: number, make: () => S): S
  /** Interrupts the operation until `answer` has been called. */
  suspend(): never
  /** Runs readings within an operation, so that their questions share one round trip. */
  together<T>(readings: readonly (() => T)[]): readonly T[]
  /** Interrupts the operation while another one that has not ended has reserved this name. */
  reserve(name: string): void
  /** Ends this try of the operation, unless it runs alone. The operation then runs after the others. */
  standAlone(): void
  /** Runs operations to their end. @throws what an operation or `answer` throws */
  run<T>(operations: readonly LockstepOperation<T>[], exchange: Exchange<Place>): Promise<readonly T[]>
  /**
   * Runs an action that must not be repeated when the operation runs again, such as the begin of a write. Outside an operation it runs the action
   * directly.
   */
  act<S>(make: () => S): S
  /** Begins an asynchronous operation, which runs until it needs an answer. */
  begin<T>(operation: () => Promise<T>, place: Place): BegunOperation<T>
  /** Runs operations that have begun at one place. Each ends by itself, unless no answer arrives. @throws what `answer` throws */
  runEach(operations: readonly BegunOperation<unknown>[], answer: Exchange<Place>['answer']): Promise<void>
}

/** An asynchronous operation that has begun. */
export interface BegunOperation<T> {
  /** Returns its result; undefined while it needs an answer. */
  end(): Promise<T> | undefined
  /** Returns true if it must not begin again, because it has run an action. */
  hasActed(): boolean
  /** Continues it with the answers that have arrived. */
  runOn(): void
}

// Both are thrown often, through code that does not know them. A new error each time would cost a stack trace.
const suspension = new Error('an operation waits for an answer')
const parting = new Error('an operation stands alone')

interface LockstepState<Place> {
  current: Trial<Place> | undefined
}

export function createLockstep<Place>(clock: () => number): Lockstep<Place> {
  const state: LockstepState<Place> = { current: undefined }

  function requireCurrent(): Trial<Place> {
    if (!state.current) throw new Error('a statement outside an operation')
    return state.current
  }

  function takeStep<S>(id: number, make: () => S): S {
    return state.current ? takeStepOf(state.current, id, make) : make()
  }

  function beginAll<T>(operations: readonly LockstepOperation<T>[], place: Place): readonly Trial<Place, T>[] {
    const run: Run<Place> = { place, holders: new Map() }
    const [begunAt, isAlone] = [clock(), operations.length === 1]
    const trials = operations.map(each => beginTrial(each, { run, begunAt, isAlone }))
    for (const trial of trials) for (const name of trial.names) run.holders.set(name, trial)
    return trials
  }

  return {
    place: () => requireCurrent().run.place,
    hasCompany: () => state.current?.isAlone === false,
    now: () => state.current?.begunAt ?? clock(),
    takeStep,
    suspend: () => breakOff(requireCurrent()),
    act: make => takeStep(idOfAct, make),
    together: readings => readAll(requireCurrent(), state, readings),
    reserve(name) {
      const current = requireCurrent()
      const { holders } = current.run
      const holder = holders.get(name)
      if (holder && holder !== current && !holder.outcome) breakOff(current)
      holders.set(name, current)
    },
    standAlone() {
      if (!requireCurrent().isAlone) throw parting
    },
    async run<T>(operations: readonly LockstepOperation<T>[], exchange: Exchange<Place>) {
      const trials = beginAll(operations, exchange.place)
      await runAll(trials, state, exchange)
      const results: T[] = []
      for (const { outcome, operation } of trials) {
        if (outcome && 'value' in outcome) results.push(outcome.value)
        else results.push(...(await this.run([{ operation }], exchange)))
      }
      return results
    },
    begin(operation, place) {
      const run: Run<Place> = { place, holders: new Map() }
      return beginOperation(beginTrial({ operation }, { run, begunAt: clock(), isAlone: false }), state)
    },
    runEach: runBegun,
  }
}

async function runBegun(
  operations: readonly BegunOperation<unknown>[],
  answer: Exchange<unknown>['answer'],
): Promise<void> {
  for (let open = operations; ; ) {
    open = open.filter(operation => !operation.end())
    if (open.length === 0) return
    if (!(await answer())) throw new Error('an operation waits for nothing')
    for (const operation of open) operation.runOn()
  }
}

function beginOperation<Place, T>(trial: Trial<Place, Promise<T>>, state: LockstepState<Place>): BegunOperation<T> {
  const runOn = () => void attempt(trial, state)
  runOn()
  return {
    end: () => (trial.outcome && 'value' in trial.outcome ? trial.outcome.value : undefined),
    hasActed: () => trial.steps.some(({ id }) => id === idOfAct),
    runOn,
  }
}

type TrialTerms<Place> = Pick<Trial<Place>, 'run' | 'begunAt' | 'isAlone'>

function beginTrial<Place, T>(
  { names = [], operation }: LockstepOperation<T>,
  { run, begunAt, isAlone }: TrialTerms<Place>,
): Trial<Place, T> {
  return { operation, names, run, begunAt, isAlone, steps: [], at: 0, isBrokenOff: false, outcome: undefined }
}

/** Marks a promise as handled. It may fail before anybody waits for it, or where nobody will, and that must not end the process. */
export function heardLater<T>(value: T): T {
  if (value instanceof Promise) void value.catch(() => undefined)
  return value
}

async function runAll<Place>(
  trials: readonly Trial<Place>[],
  state: LockstepState<Place>,
  { answer }: Exchange<Place>,
): Promise<void> {
  let open = trials
  for (;;) {
    const left = open.filter(trial => !attempt(trial, state))
    if (left.length === 0) return
    const hasAsked = await answer()
    if (!hasAsked && left.length === open.length) throw new Error('operations wait for each other')
    open = left
  }
}

/** Runs an operation once more. @returns true if it has ended */
function attempt<Place>(trial: Trial<Place>, state: LockstepState<Place>): boolean {
  const before = state.current
  state.current = trial
  trial.at = 0
  trial.isBrokenOff = false
  try {
    // An asynchronous operation reports through its promise that it was interrupted.
    const value = heardLater(trial.operation())
    if (!trial.isBrokenOff) trial.outcome = { value }
  } catch (error) {
    if (error === parting) trial.outcome = { standsAlone: true }
    else if (!trial.isBrokenOff) throw error
  } finally {
    state.current = before
  }
  return trial.outcome !== undefined
}

const [idOfReadings, idOfAct] = [-1, -2]

/** Runs readings, each as an attempt of its own, so that a waiting one does not keep the next from asking. */
function readAll<Place, T>(
  parent: Trial<Place>,
  state: LockstepState<Place>,
  readings: readonly (() => T)[],
): readonly T[] {
  const trials = takeStepOf(parent, idOfReadings, () =>
    readings.map(operation => beginTrial<Place, T>({ operation }, parent)),
  )
  const left = trials.filter(trial => !trial.outcome && !attempt(trial, state))
  if (left.length > 0) breakOff(parent)
  return trials.map(({ outcome }) => {
    if (!outcome || !('value' in outcome)) throw parting
    return outcome.value
  })
}

function breakOff(trial: Trial<unknown>): never {
  trial.isBrokenOff = true
  throw suspension
}

function takeStepOf<Place, S>(trial: Trial<Place>, id: number, make: () => S): S {
  const known = trial.steps[trial.at]
  if (known && known.id !== id) throw new Error('an operation does not do the same when it is run again')
  const step = known ? (known.step as S) : make()
  if (!known) trial.steps.push({ id, step })
  trial.at += 1
  return step
}
