export { Component, Fragment, createContext, h, render } from 'preact'
