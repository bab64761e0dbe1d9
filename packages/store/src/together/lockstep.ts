/** What operations ask of a server, in one run of them. */
interface Run<Place> {
  readonly place: Place
  readonly holders: Map<string, Trial<Place>>
}

/** An operation that is run again from its start with each answer it has asked for, until none is missing. */
interface Trial<Place, T = unknown> {
  readonly operation: () => T
  readonly names: readonly string[]
  readonly run: Run<Place>
  /** Nothing runs beside it. */
  readonly isAlone: boolean
  /** As the clock was when it began: it does the same each time. */
  readonly begunAt: number
  /** What it has sent and asked so far, in order. */
  readonly steps: { readonly id: number; readonly step: unknown }[]
  /** How many of them it has come to in this run. */
  at: number
  isBrokenOff: boolean
  outcome: { readonly value: T } | { readonly standsAlone: true } | undefined
}

/** `names`: what it touches; no other operation of the same wave names any of it. */
interface LockstepOperation<T> {
  readonly names?: readonly string[]
  readonly operation: () => T
}

interface Exchange<Place> {
  readonly place: Place
  /** Gets the answers to all that was asked, and says whether anything was. */
  answer(): Promise<boolean>
}

/** Runs operations side by side, so that what they ask goes to a server that is far in one way for all of them. Several runs go on at a time. */
export interface Lockstep<Place> {
  /** Where the running operation asks. @throws Error when none is running: what reads after a wait is an operation of its own */
  place(): Place
  /** Whether an operation is running beside others. */
  hasCompany(): boolean
  /** The clock, which stands still for an operation. */
  now(): number
  /** What the operation sends or asks next: as it was at its last run, or made now. Outside an operation it is made. */
  takeStep<S>(id: number, make: () => S): S
  /** Breaks the operation off, until `answer` was called. */
  suspend(): never
  /** Within an operation: what these readings ask goes in one way, too. */
  together<T>(readings: readonly (() => T)[]): readonly T[]
  /** Breaks it off as long as another one that is not over has named it. */
  reserve(name: string): void
  /** Breaks it off for good, unless it is alone: it is run behind the others. */
  standAlone(): void
  /** @throws what an operation or `answer` throws */
  run<T>(operations: readonly LockstepOperation<T>[], exchange: Exchange<Place>): Promise<readonly T[]>
  /** Does what may not be done again with the operation, which is how a write begins. Outside an operation it is done. */
  act<S>(make: () => S): S
  /** Begins an asynchronous operation, which runs until it needs an answer. */
  begin<T>(operation: () => Promise<T>, place: Place): BegunOperation<T>
  /** Runs what has begun at one place: each comes to its own end, unless there is no answer. @throws what `answer` throws */
  runEach(operations: readonly BegunOperation<unknown>[], answer: Exchange<Place>['answer']): Promise<void>
}

/** An asynchronous operation. */
export interface BegunOperation<T> {
  /** Undefined as long as it needs an answer. */
  end(): Promise<T> | undefined
  /** Whether it may not begin again. */
  hasActed(): boolean
  /** Runs it on with the answers that are there now. */
  runOn(): void
}

// Thrown through code that knows nothing of it, often: an error each time would cost its stack.
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

/** A promise may fail before anybody waits for it, or where nobody will: that must end nothing else. */
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

/** @returns whether it has come to an end */
function attempt<Place>(trial: Trial<Place>, state: LockstepState<Place>): boolean {
  const before = state.current
  state.current = trial
  trial.at = 0
  trial.isBrokenOff = false
  try {
    // An asynchronous operation tells by its promise that it was broken off.
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

/** Each reading is an attempt of its own, so that one that waits does not keep the next from asking. */
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
