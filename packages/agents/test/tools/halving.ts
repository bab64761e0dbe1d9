// Defines a tool whose result has lone surrogates.
export const halve = {
  description: 'Returns halves of characters',
  run: (args: unknown) => ({ args, '\ud83d': ['\ude00'] }),
}
