import type { Json } from '@postern/core'
import { createOneByOne, Unavailable } from '@postern/core'
import type { RecordKey, RecordStore } from '@postern/transcript'
import { copyJson } from '@postern/transcript'
import type { DataContext } from './context.ts'

/** Runs before a value is stored: returns it, returns another one, or throws. */
export type DataStep<Value> = (value: Value, clientId: string, name: string) => Promise<Value> | Value

export interface StateSpec<State extends Json = Json> {
  readonly stateName: string
  /** One value for all clients. */
  readonly isShared?: boolean | undefined
  /** The value before the first change and after a clear. */
  getDefault(clientId: string, stateName: string): Promise<State> | State
  readonly middlewares?: readonly DataStep<State>[] | undefined
}

/** JSON of one client or of all clients. It outlives restarts. */
export interface ClientState<State extends Json = Json> {
  get(): Promise<State>
  /**
   * A value, or a function of the present value. `change` may read the state and never runs twice at once. It runs again only if another
   * process was first. @throws the error of `change` or a middleware; TypeError for a value that is no JSON
   */
  set(change: State | ((before: State) => Promise<State> | State)): Promise<State>
  /** Returns the value afterwards: the default. */
  clear(): Promise<State>
}

export function createClientState<State extends Json>(spec: StateSpec<State>, data: DataContext): ClientState<State> {
  const { stateName, middlewares = [] } = spec
  const { clientId } = data
  const record = keepRecord<State>(data.records, data.placeOf('state', stateName))
  const tell = (type: string, state: State) =>
    data.tell('state-bus', { type, context: { stateName }, output: { state } })
  const makeDefault = async () => await spec.getDefault(clientId, stateName)

  /** `null` is an ordinary value. */
  const orDefault = async (state: State | undefined) => (state === undefined ? await makeDefault() : state)

  async function makeNext(before: State, change: Parameters<ClientState<State>['set']>[0]): Promise<State> {
    let next = typeof change === 'function' ? await change(before) : change
    for (const step of middlewares) next = await step(next, clientId, stateName)
    return copyJson(next) as State
  }

  return {
    async get() {
      const state = await orDefault(await record.read())
      tell('get-state', state)
      return state
    },
    async set(change) {
      const state = await record.change(async before => makeNext(await orDefault(before), change))
      tell('set-state', state)
      return state
    },
    async clear() {
      await record.clear()
      const state = await makeDefault()
      tell('clear-state', state)
      return state
    },
  }
}

/** One record that several writers change. */
interface KeptRecord<Value extends Json> {
  read(): Promise<Value | undefined>
  /**
   * Changes run one after the other. If another process was first, `make` runs again on its value. An error of `make` changes nothing.
   * @throws Unavailable when others were first in every try
   */
  change(make: (value: Value | undefined) => Promise<Value> | Value): Promise<Value>
  clear(): Promise<void>
}

/** Each try fails only because another writer succeeded. So many failures mean a fault. */
const maxTries = 1_000

/** Writes what `make` makes of the present value, until nobody else was first. @throws Unavailable when others were in every try */
export async function writeRecord<Value extends Json>(
  place: RecordKey,
  make: (value: Value | undefined) => Promise<Value> | Value,
  { records, what }: { readonly records: Pick<RecordStore, 'get' | 'insert' | 'swap'>; readonly what: string },
): Promise<Value> {
  for (let left = maxTries; left > 0; left -= 1) {
    const before = await records.get(place)
    const value = await make(before?.value as Value | undefined)
    const isFirst = before ? await records.swap(place, before.version, value) : await records.insert(place, value)
    if (isFirst) return value
  }
  throw new Unavailable(`Cannot keep ${what}: others were first, again and again`)
}

export function keepRecord<Value extends Json>(
  records: Pick<RecordStore, 'get' | 'insert' | 'swap' | 'remove'>,
  place: RecordKey,
): KeptRecord<Value> {
  const oneByOne = createOneByOne()

  return {
    read: async () => (await records.get(place))?.value as Value | undefined,
    change: make => oneByOne(place.key, () => writeRecord(place, make, { records, what: 'record' })),
    clear: () => oneByOne(place.key, () => records.remove(place)),
  }
}
