// Stores a JSON value for one client or for all clients.
import type { Json } from '@postern/message'
import { Unavailable } from '@postern/message'
import { createKeyedQueue } from '@postern/pipeline'
import type { RecordKey, RecordStore } from '@postern/transcript'
import { copyJson } from '@postern/transcript'
import type { DataContext } from './data-context.ts'

/** Runs before a value is stored. It returns this value or another, or throws. */
export type DataStep<Value> = (value: Value, clientId: string, name: string) => Promise<Value> | Value

export interface StateSpec<State extends Json = Json> {
  readonly stateName: string
  /** True for one value for all clients. */
  readonly isShared?: boolean | undefined
  /** Returns the value before the first change and after a clear. */
  getDefault(clientId: string, stateName: string): Promise<State> | State
  readonly middlewares?: readonly DataStep<State>[] | undefined
}

/** A JSON value of one client or of all clients. It survives restarts. */
export interface ClientState<State extends Json = Json> {
  get(): Promise<State>
  /**
   * Sets a value, or the result of a function of the current value. `change` may read the state and never runs concurrently. It runs again only if
   * another process wrote first. @throws the error of `change` or a middleware; TypeError for a value that is not JSON
   */
  set(change: State | ((previousState: State) => Promise<State> | State)): Promise<State>
  /** Removes the value and returns the default. */
  clear(): Promise<State>
}

export function createClientState<State extends Json>(spec: StateSpec<State>, data: DataContext): ClientState<State> {
  const { stateName, middlewares = [] } = spec
  const { clientId } = data
  const record = openSharedRecord<State>(data.records, data.recordKeyOf('state', stateName))
  const emit = (type: string, state: State) =>
    data.emit('state-bus', { type, context: { stateName }, output: { state } })
  const createDefault = async () => await spec.getDefault(clientId, stateName)

  /** A stored `null` is an ordinary value. */
  const replaceAbsent = async (state: State | undefined) => (state === undefined ? await createDefault() : state)

  async function createNext(previous: State, change: Parameters<ClientState<State>['set']>[0]): Promise<State> {
    let nextState = typeof change === 'function' ? await change(previous) : change
    for (const step of middlewares) nextState = await step(nextState, clientId, stateName)
    return copyJson(nextState) as State
  }

  return {
    async get() {
      const state = await replaceAbsent(await record.read())
      emit('get-state', state)
      return state
    },
    async set(change) {
      const state = await record.change(async previous => createNext(await replaceAbsent(previous), change))
      emit('set-state', state)
      return state
    },
    async clear() {
      await record.clear()
      const state = await createDefault()
      emit('clear-state', state)
      return state
    },
  }
}

/** A record that several writers change. */
interface SharedRecord<Value extends Json> {
  read(): Promise<Value | undefined>
  /**
   * Changes the value. Changes run one after the other. If another process wrote first, `createValue` runs again with its value. An error of
   * `createValue` changes nothing. @throws Unavailable if other writers were first in every attempt
   */
  change(createValue: (value: Value | undefined) => Promise<Value> | Value): Promise<Value>
  clear(): Promise<void>
}

/** The maximum number of attempts. Each fails only if another writer succeeds, so this many failures indicate a bug. */
const maxAttempts = 1_000

/** Writes the result of `createValue` for the current value, and retries if another writer was first. @throws Unavailable if others were first in every attempt */
export async function writeRecord<Value extends Json>(
  recordKey: RecordKey,
  createValue: (value: Value | undefined) => Promise<Value> | Value,
  { records, label }: { readonly records: Pick<RecordStore, 'get' | 'insert' | 'swap'>; readonly label: string },
): Promise<Value> {
  for (let remainingAttempts = maxAttempts; remainingAttempts > 0; remainingAttempts -= 1) {
    const record = await records.get(recordKey)
    const value = await createValue(record?.value as Value | undefined)
    const isFirst = record
      ? await records.swap(recordKey, record.version, value)
      : await records.insert(recordKey, value)
    if (isFirst) return value
  }
  throw new Unavailable(`Cannot store ${label}: other writers were first in every attempt`)
}

export function openSharedRecord<Value extends Json>(
  records: Pick<RecordStore, 'get' | 'insert' | 'swap' | 'remove'>,
  recordKey: RecordKey,
): SharedRecord<Value> {
  const oneByOne = createKeyedQueue()

  return {
    read: async () => (await records.get(recordKey))?.value as Value | undefined,
    change: make => oneByOne(recordKey.key, () => writeRecord(recordKey, make, { records, label: 'record' })),
    clear: () => oneByOne(recordKey.key, () => records.remove(recordKey)),
  }
}
