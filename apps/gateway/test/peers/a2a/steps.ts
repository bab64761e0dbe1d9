// Lists the steps of the exam with the official A2A SDK.
import { deepStrictEqual, ok } from 'node:assert/strict'
import type { ExamStep } from '../run-steps.ts'
import type { A2aSetup, CallMode } from './python-client.ts'

const ways: readonly CallMode[] = (['JSONRPC', 'HTTP+JSON'] as const).flatMap(binding => [
  { binding, way: 'waits' as const },
  { binding, way: 'streams' as const },
])

const nameWay = ({ binding, way }: CallMode) => `${binding}, ${way === 'waits' ? 'in one answer' : 'by a stream'}`

/** The steps of the Python client with our agents, and of our agents with an agent of the Python server. */
export const a2aSteps: readonly ExamStep<A2aSetup>[] = [
  ...ways.map(way => ({
    name: `our agent asks the Python client a question, and the client answers (${nameWay(way)})`,
    run: (setup: A2aSetup) => answerTravel(setup, way),
  })),
  ...(['streams', 'plain'] as const).flatMap(agent => [
    { name: `the Python server asks our agent "${agent}" a question and gets an answer`, run: goOn(agent, 'Berlin') },
    { name: `the Python server repeats its task to "${agent}" before it answers`, run: goOn(agent, 'Berlin again') },
    { name: `the Python server has two questions for "${agent}"`, run: askTwice(agent) },
  ]),
  { name: 'nothing was refused', run: checkRefusals },
]

async function answerTravel({ call }: A2aSetup, mode: CallMode): Promise<void> {
  const { name, answers } = await call('travel', mode, 'A ticket, please', 'Rome')
  deepStrictEqual(name, 'Reisebüro 旅')
  const [question, answer] = answers
  deepStrictEqual([question?.state, question?.message], ['TASK_STATE_INPUT_REQUIRED', 'Where to?'])
  deepStrictEqual([answer?.state, answer?.artifacts], ['TASK_STATE_COMPLETED', ['A ticket\u2028to\u0085Rome']])
  deepStrictEqual(answer?.task, question?.task)
}

const byStream = { binding: 'JSONRPC', way: 'streams' } as const

function goOn(agent: string, text: string) {
  return async ({ call }: A2aSetup) => {
    const { answers } = await call(agent, byStream, 'How will it be?', text)
    const [question, answer] = answers
    deepStrictEqual([question?.state, question?.message], ['TASK_STATE_INPUT_REQUIRED', 'Which city?'])
    deepStrictEqual([answer?.state, answer?.artifacts], ['TASK_STATE_COMPLETED', [`Sunny (${text})`]])
  }
}

function askTwice(agent: string) {
  return async ({ call }: A2aSetup) => {
    const { answers } = await call(agent, byStream, 'How will it be?', 'Rome again', 'on Sunday')
    deepStrictEqual(
      answers.map(({ message, artifacts }) => message || artifacts.join('')),
      ['Which city?', 'Which day?', 'Sunny (on Sunday)'],
    )
  }
}

async function checkRefusals({ gateway }: A2aSetup): Promise<void> {
  const refusals = await gateway.refusals()
  ok(refusals.length === 0, JSON.stringify(refusals))
}
