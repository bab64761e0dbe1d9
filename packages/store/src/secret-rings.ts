// Keeps the generations of the store's secrets by purpose, and follows rotations by other gateways.
import { createHmac, randomBytes } from 'node:crypto'
import { isoTime, parseJsonText } from '@postern/message'
import type { ListedSecret, LookupStore, NoticeStore, SecretPurpose, SecretStore } from '@postern/pipeline'
import { replacedSecretMs, secretPurposes } from '@postern/pipeline'

interface SecretRingDeps {
  readonly store: Pick<LookupStore, 'secret' | 'hasSecret'> & Pick<NoticeStore, 'notify' | 'listen'>
  readonly now: () => number
  /** True if no other process rotates these secrets. */
  readonly isSoleWriter: boolean
}

/** The time between two checks for rotations by other gateways, ms. Their hint may be lost. */
const pollEveryMs = 5_000
const topic = 'secrets'

/** A generation of keys. All its keys are derived from one secret, so a rotation is one row, and no purpose can be left out. */
interface Generation {
  readonly made_at: string
  /** True if no earlier generation counts any more. */
  readonly revokes: boolean
  readonly secret: string
}

const purposes = Object.keys(secretPurposes) as readonly SecretPurpose[]

export function createSecretRings(deps: SecretRingDeps): SecretStore & { close(): void } {
  const { store, now } = deps
  const generations = createGenerations(deps)
  const keys = createKeys(generations, now)
  let opening: Promise<void> | undefined
  let stopPolling = () => {}

  async function openAll(): Promise<void> {
    await generations.readAll()
    if (!deps.isSoleWriter) stopPolling = pollGenerations(store, generations.readNew)
  }

  function open(): Promise<void> {
    opening ??= openAll()
    opening.catch(() => {
      opening = undefined
    })
    return opening
  }

  return {
    async openSecret(purpose) {
      await open()
      return {
        list: () => keys.listValidNumbers().map(number => keys.find(purpose, number)),
        listAll: () => keys.listNumbers().map(number => keys.find(purpose, number)),
      }
    },
    async listSecrets() {
      await open()
      await generations.readNew()
      return purposes.flatMap(purpose => keys.listValidNumbers().map(number => keys.describe(purpose, number)))
    },
    async rotateSecrets({ isRevoking = false } = {}) {
      await open()
      await generations.add(isRevoking)
      store.notify(topic, { kind: 'changed' })
    },
    close: () => stopPolling(),
  }
}

/** Reads new generations regularly, and after each hint. While the store is unreachable the known secrets stay valid. */
function pollGenerations({ listen }: Pick<NoticeStore, 'listen'>, readNew: () => Promise<void>): () => void {
  const readNewGenerations = () => void readNew().catch(() => undefined)
  const unlisten = listen(topic, readNewGenerations)
  const timer = setInterval(readNewGenerations, pollEveryMs).unref()
  return () => {
    clearInterval(timer)
    unlisten()
  }
}

interface Generations {
  /** All generations, oldest first. */
  readonly generations: readonly Generation[]
  /** Secrets of an earlier release, which stored one for each purpose. They are the keys of the first generation. */
  readonly legacySecrets: ReadonlyMap<SecretPurpose, string>
  readAll(): Promise<void>
  readNew(): Promise<void>
  add(isRevoking: boolean): Promise<void>
}

function createGenerations({ store, now }: Pick<SecretRingDeps, 'store' | 'now'>): Generations {
  const generations: Generation[] = []
  const legacySecrets = new Map<SecretPurpose, string>()

  const createGeneration = (revokes: boolean): Generation => ({
    made_at: isoTime(now()),
    revokes,
    secret: randomBytes(32).toString('base64url'),
  })

  async function readGeneration(number: number, newGeneration: Generation): Promise<void> {
    generations[number - 1] = parseJsonText(
      await store.secret(nameOf(number), async () => JSON.stringify(newGeneration)),
    ) as Generation
  }

  /** Reads new generations. Each run has its own count, because several may read at the same time. */
  async function readNew(): Promise<void> {
    for (let number = generations.length + 1; await store.hasSecret(nameOf(number)); number += 1)
      await readGeneration(number, createGeneration(false))
  }

  return {
    generations,
    legacySecrets,
    readNew,
    async readAll() {
      for (const purpose of purposes)
        if (await store.hasSecret(purpose)) legacySecrets.set(purpose, await store.secret(purpose, async () => ''))
      await readGeneration(1, createGeneration(false))
      await readNew()
    },
    async add(isRevoking) {
      const newGeneration = createGeneration(isRevoking)
      // Another gateway may rotate at the same time. This rotation then follows the other one.
      while (!generations.some(({ secret }) => secret === newGeneration.secret)) {
        await readNew()
        await readGeneration(generations.length + 1, newGeneration)
      }
    },
  }
}

function createKeys(
  { generations, legacySecrets }: Pick<Generations, 'generations' | 'legacySecrets'>,
  now: () => number,
) {
  const listNumbers = () => generations.map((_, index) => index + 1).reverse()
  const hasLegacySecret = (purpose: SecretPurpose, number: number) => number === 1 && legacySecrets.has(purpose)
  return {
    /** Returns the numbers of all generations, newest first. */
    listNumbers,
    /** Returns the numbers of the generations that count now, newest first. */
    listValidNumbers(): readonly number[] {
      const oldest = generations.findLastIndex(
        ({ made_at, revokes }, index) => index === 0 || revokes || Date.parse(made_at) + replacedSecretMs <= now(),
      )
      return listNumbers().filter(number => number > oldest)
    },
    find: (purpose: SecretPurpose, number: number): string =>
      (hasLegacySecret(purpose, number) ? legacySecrets.get(purpose) : undefined) ??
      deriveKey(generations[number - 1]?.secret ?? '', purpose),
    describe(purpose: SecretPurpose, generation: number): ListedSecret {
      const madeAt = Date.parse(generations[generation - 1]?.made_at ?? '')
      return { purpose, generation, ...(!hasLegacySecret(purpose, generation) && { madeAt }) }
    },
  }
}

function nameOf(generation: number): string {
  return `secrets-${generation}`
}

function deriveKey(secret: string, purpose: SecretPurpose): string {
  return createHmac('sha256', Buffer.from(secret, 'base64url'))
    .update(`postern secret v1 ${purpose}`)
    .digest('base64url')
}
