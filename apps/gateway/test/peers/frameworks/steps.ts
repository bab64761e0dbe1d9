// Lists the steps of the exam with foreign frameworks.
import { deepStrictEqual, match } from 'node:assert/strict'
import type { FrameworkCaller, FrameworkName, FrameworkSetup, FrameworkStep } from './framework-setup.ts'
import { frameworks, sayAll } from './framework-setup.ts'

/** A check of one caller. */
type Check = (setup: FrameworkSetup, caller: FrameworkCaller) => Promise<void>

function stepsOf(title: string, check: Check, callers: readonly FrameworkCaller[]): readonly FrameworkStep[] {
  return callers.map(caller => ({
    name: `${title} (${caller.name}, ${caller.streams ? 'by a stream' : 'in one answer'})`,
    run: setup => check(setup, caller),
  }))
}

const callersOf = (names: readonly FrameworkName[]): readonly FrameworkCaller[] =>
  names.flatMap(name => [true, false].map(streams => ({ name, streams })))

/** Lists the steps of frameworks at a gateway where every caller needs a credential. */
export function listFrameworkSteps(names: readonly FrameworkName[]): readonly FrameworkStep[] {
  const callers = callersOf(names)
  const senders = callers.filter(({ name }) => frameworks[name].sendsFiles)
  return [
    ...stepsOf('reads the card, shows an answer once, and the next one knows the first', goOn, callers),
    ...stepsOf('shows a question, and the answer to its answer', answerQuestion, callers),
    ...stepsOf('says that the agent failed', hearFailure, callers),
    ...stepsOf('shows a character whole that the agent cut in two', hearCutCharacter, callers),
    ...stepsOf('sends a file', sendFile, senders),
    ...stepsOf('shows the words beside a file', hearFile, callers),
    { name: 'the gateway knows callers by their key and their token, and refused nothing', run: checkCallers },
    ...stepsOf('says that a wrong token is refused', hearRefusal, callers),
  ]
}

/** Lists the steps of frameworks at a gateway that also accepts callers without a credential. */
export function listOpenFrameworkSteps(names: readonly FrameworkName[]): readonly FrameworkStep[] {
  return [
    ...stepsOf('is answered without a credential where none is needed', callAsNobody, callersOf(names)),
    ...stepsOf('is known by its key where none is needed', callWithKey, callersOf(names)),
  ]
}

async function goOn(setup: FrameworkSetup, caller: FrameworkCaller): Promise<void> {
  const { card, answers } = await sayAll(setup, caller, { agent: 'teller', texts: ['hello', 'and again'] })
  // A streaming CrewAI reads the context from the history of a task, which a streamed answer does not have.
  const earlierRoles = caller.name === 'CrewAI' && caller.streams ? '' : 'user assistant'
  deepStrictEqual(card, 'Teller')
  deepStrictEqual(answers, [
    answeredReply('Before: ; now: hello'),
    answeredReply(`Before: ${earlierRoles}; now: and again`),
  ])
}

async function answerQuestion(setup: FrameworkSetup, caller: FrameworkCaller): Promise<void> {
  const { card, answers } = await sayAll(setup, caller, {
    agent: 'travel',
    texts: ['A ticket, please', 'Rome'],
  })
  // A polling CrewAI puts the last message of the history before the text of the artifacts.
  const repeated = caller.name === 'CrewAI' && !caller.streams ? 'Where to? ' : ''
  deepStrictEqual(card, 'Reisebüro 旅')
  deepStrictEqual(answers, [
    { state: 'asked', text: 'Where to?', files: [] },
    answeredReply(`${repeated}A ticket\u2028to\u0085Rome`),
  ])
}

async function hearFailure(setup: FrameworkSetup, caller: FrameworkCaller): Promise<void> {
  const { answers } = await sayAll(setup, caller, { agent: 'teller', texts: ['fail'] })
  deepStrictEqual(
    answers.map(({ state }) => state),
    ['failed'],
  )
  // Without a stream, the Agent Framework shows the artifacts or the history of a failed task, but no status message.
  const isSilent = caller.name === 'Agent Framework' && !caller.streams
  match(answers[0]?.text ?? '', isSilent ? /^$/ : /^Sorry, this could not be answered\. Reference: \w+$/)
}

async function hearCutCharacter(setup: FrameworkSetup, caller: FrameworkCaller): Promise<void> {
  const { answers } = await sayAll(setup, caller, { agent: 'teller', texts: ['cut'] })
  deepStrictEqual(answers, [answeredReply('A balloon 🎈 rises.')])
}

async function sendFile(setup: FrameworkSetup, caller: FrameworkCaller): Promise<void> {
  const file = { name: 'note.txt', mime: 'text/plain', data: 'aGk=' }
  const { answers } = await sayAll(setup, caller, { agent: 'teller', texts: ['look'], file })
  deepStrictEqual(answers, [answeredReply('Before: ; now: look; a file text/plain')])
}

async function hearFile(setup: FrameworkSetup, caller: FrameworkCaller): Promise<void> {
  const { answers } = await sayAll(setup, caller, { agent: 'teller', texts: ['file'] })
  deepStrictEqual(answers, [answeredReply('Here it is.', frameworks[caller.name].showsFiles ? ['text/plain'] : [])])
}

async function checkCallers({ gateway }: FrameworkSetup): Promise<void> {
  const senders = (await gateway.messages()).map(({ message }) => message.sender)
  deepStrictEqual(
    senders.filter(({ verified }) => !verified),
    [],
  )
  const addresses = [...new Set(senders.map(({ address }) => address))].sort()
  match(addresses.join(' '), /^@frameworks\S*@agents\.test @tester@python\.test$/)
  deepStrictEqual(await gateway.refusals(), [])
}

async function hearRefusal(setup: FrameworkSetup, caller: FrameworkCaller): Promise<void> {
  const plan = { agent: 'teller', texts: ['hello'], credential: 'wrong' } as const
  const { answers } = await sayAll(setup, caller, plan)
  deepStrictEqual(
    answers.filter(({ state }) => !['failed', 'error'].includes(state)),
    [],
  )
  match(answers[0]?.text ?? '', /401/)
}

async function callAsNobody(setup: FrameworkSetup, caller: FrameworkCaller): Promise<void> {
  const plan = { agent: 'teller', texts: ['hello'], credential: 'none' } as const
  const { answers } = await sayAll(setup, caller, plan)
  deepStrictEqual(answers, [answeredReply('Before: ; now: hello')])
}

async function callWithKey(setup: FrameworkSetup, caller: FrameworkCaller): Promise<void> {
  const plan = { agent: 'teller', texts: ['hello'], credential: 'key' } as const
  const { answers } = await sayAll(setup, caller, plan)
  deepStrictEqual(answers, [answeredReply('Before: ; now: hello')])
  const [latest] = (await setup.gateway.messages()).map(({ message }) => message.sender)
  match(latest?.address ?? '', /^@frameworks\S*@agents\.test$/)
}

const answeredReply = (text: string, files: readonly string[] = []) => ({ state: 'answered', text, files })
